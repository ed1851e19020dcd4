// The texts of a catalogue as HTML. Markup: **strong**, *emphasis*, `code`, $math$ and $$display math$$
// in LaTeX, [words](#section). Math becomes MathML here, at build time.
import temml from 'temml';

const kEscapes: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (c) => kEscapes[c]);
}

export function mathml(latex: string, display: boolean): string {
  return temml.renderToString(latex, { displayMode: display, throwOnError: true, annotate: false });
}

function words(text: string): string {
  return escapeHtml(text)
    .replace(/\*\*([^*]+)\*\*/g, '<strong>$1</strong>')
    .replace(/\*([^*]+)\*/g, '<em>$1</em>')
    .replace(/\[([^\]]+)\]\((#[a-z-]+)\)/g, '<a href="$2">$1</a>');
}

export function html(text: string): string {
  // Split at code and math, which keep their characters.
  const parts = text.split(/(`[^`]+`|\$\$[^$]+\$\$|\$[^$]+\$)/);
  return parts
    .map((part) => {
      if (part.startsWith('`')) return `<code>${escapeHtml(part.slice(1, -1))}</code>`;
      if (part.startsWith('$$')) return mathml(part.slice(2, -2), true);
      if (part.startsWith('$')) return mathml(part.slice(1, -1), false);
      return words(part);
    })
    .join('');
}

/** Code as it is, with its comments marked. Comments begin with # and a blank, or with //. */
export function codeHtml(code: string): string {
  return escapeHtml(code.trimEnd()).replace(/(# |\/\/).*$/gm, '<span class="comment">$&</span>');
}
