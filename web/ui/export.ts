// Saves what a figure shows: its drawings as one SVG or PNG, its numbers as CSV.
const kStyles = [
  'fill',
  'fill-opacity',
  'stroke',
  'stroke-width',
  'stroke-opacity',
  'stroke-dasharray',
  'stroke-linecap',
  'stroke-linejoin',
  'paint-order',
  'opacity',
  'font-family',
  'font-size',
  'font-weight',
  'text-anchor',
];
const kGap = 20;
const kTitle = 30;

/** A copy of the drawing that needs no style sheet. */
function styled(svg: SVGSVGElement): SVGSVGElement {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const from = [svg, ...svg.querySelectorAll('*')];
  const to = [copy, ...copy.querySelectorAll('*')];
  from.forEach((element, n) => {
    const computed = getComputedStyle(element);
    const style = kStyles.map((name) => `${name}:${computed.getPropertyValue(name)}`).join(';');
    to[n].setAttribute('style', style);
    to[n].removeAttribute('class');
  });
  return copy;
}

/** All drawings of a figure side by side, with their titles, as the text of one SVG file. */
export function figureSvg(figure: Element): { text: string; width: number; height: number } {
  const namespace = 'http://www.w3.org/2000/svg';
  const drawings = [...figure.querySelectorAll<SVGSVGElement>('svg[data-export]')];
  const page = document.createElementNS(namespace, 'svg');
  const colours = getComputedStyle(figure);
  let left = 0;
  let height = 0;
  for (const drawing of drawings) {
    const box = drawing.viewBox.baseVal;
    const title = document.createElementNS(namespace, 'text');
    title.textContent = drawing.dataset.export ?? '';
    title.setAttribute('x', String(left + box.width / 2));
    title.setAttribute('y', '20');
    title.setAttribute(
      'style',
      `font:16px system-ui,sans-serif;text-anchor:middle;fill:${colours.color}`,
    );
    const copy = styled(drawing);
    copy.setAttribute('x', String(left));
    copy.setAttribute('y', String(kTitle));
    copy.setAttribute('width', String(box.width));
    copy.setAttribute('height', String(box.height));
    page.append(title, copy);
    left += box.width + kGap;
    height = Math.max(height, box.height + kTitle);
  }
  const width = Math.max(1, left - kGap);
  page.setAttribute('xmlns', namespace);
  page.setAttribute('viewBox', `0 0 ${width} ${height}`);
  page.setAttribute('width', String(width));
  page.setAttribute('height', String(height));
  const back = document.createElementNS(namespace, 'rect');
  back.setAttribute('width', String(width));
  back.setAttribute('height', String(height));
  back.setAttribute('fill', getComputedStyle(document.body).backgroundColor);
  page.prepend(back);
  return { text: new XMLSerializer().serializeToString(page), width, height };
}

/** Numbers of the engine have some 7 digits. */
function csvText(value: string | number): string {
  return typeof value === 'number' ? String(Number(value.toPrecision(7))) : value;
}

export function csv(rows: readonly (readonly (string | number)[])[]): string {
  const cell = (value: string | number) => {
    const text = csvText(value);
    return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => row.map(cell).join(',') + '\r\n').join('');
}

function save(name: string, blob: Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export function saveSvg(figure: Element, name: string): void {
  save(`${name}.svg`, new Blob([figureSvg(figure).text], { type: 'image/svg+xml' }));
}

/** At twice the size of the SVG. */
export async function savePng(figure: Element, name: string): Promise<void> {
  const { text, width, height } = figureSvg(figure);
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = document.createElement('canvas');
  canvas.width = 2 * width;
  canvas.height = 2 * height;
  canvas.getContext('2d')!.drawImage(image, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, 'image/png'));
  if (blob) save(`${name}.png`, blob);
}

export function saveCsv(rows: readonly (readonly (string | number)[])[], name: string): void {
  save(`${name}.csv`, new Blob([csv(rows)], { type: 'text/csv' }));
}
