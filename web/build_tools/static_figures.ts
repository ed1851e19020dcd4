// Draws a page's figures while it is built, with the engine in Node, so that they can be seen before its
// scripts run and where scripts are off.
import { createServer, type Plugin } from 'vite';

import { engine } from '../engine/node.ts';

export function staticFigures(root: string, texts: Plugin): Plugin {
  return {
    name: 'qkv-static-figures',
    apply: 'build',
    async transformIndexHtml(page) {
      const server = await createServer({
        root,
        configFile: false,
        logLevel: 'error',
        appType: 'custom',
        plugins: [texts],
        server: { middlewareMode: true, hmr: false, watch: null },
        optimizeDeps: { noDiscovery: true },
      });
      try {
        const { prerender } = (await server.ssrLoadModule(
          '/prerender.tsx',
        )) as typeof import('../lesson/prerender.tsx');
        const figures = prerender(await engine());
        const placed = new Set<string>();
        const filled = page.replace(
          /(<div data-figure="([a-z0-9-]+)">)\s*(<\/div>)/g,
          (_, open, name, close) => {
            if (!(name in figures))
              throw new Error(
                `the page has a place for the figure ${name}, which no section makes`,
              );
            placed.add(name);
            return open + figures[name] + close;
          },
        );
        const homeless = Object.keys(figures).filter((name) => !placed.has(name));
        if (homeless.length > 0)
          throw new Error(`the page has no place for ${homeless.join(', ')}`);
        return filled;
      } finally {
        await server.close();
      }
    },
  };
}
