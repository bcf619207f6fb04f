import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

const COMPRESSED = /\.(?:js|css|svg)$/;

/** Modules of forms, which many pages share and none begins with. */
const LATER = /\/(?:@mantine\/form|klona|fast-deep-equal)\//;

/** Writes each file's compressed forms beside it, so that serving them costs nothing. */
const compressFiles = (): Plugin => ({
  name: 'compress-files',
  apply: 'build',
  writeBundle: ({ dir = '' }) => {
    for (const name of readdirSync(dir, { recursive: true, encoding: 'utf8' })) {
      if (!COMPRESSED.test(name)) continue;
      const bytes = readFileSync(join(dir, name));
      writeFileSync(join(dir, `${name}.gz`), gzipSync(bytes));
      writeFileSync(join(dir, `${name}.br`), brotliCompressSync(bytes));
    }
  },
});

export default defineConfig({
  base: '/console/',
  plugins: [react(), compressFiles()],
  // The admin service replaces it in each answer: apps/admin/src/console/serve-console.ts.
  // Scripts and styles find each other wherever a proxy has the console; the page's own addresses the admin service completes.
  experimental: {
    renderBuiltUrl: (_file, { hostType }) => (hostType === 'html' ? undefined : { relative: true }),
  },
  html: { cspNonce: 'CONSOLE_NONCE' },
  build: {
    // Everything is a file: the page's policy allows no data URLs for scripts and styles.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // For browser/build.test.ts. The admin service serves `assets/` alone.
    manifest: true,
    // `light-dark()` stays as it is.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    chunkSizeWarningLimit: 1_000,
    rolldownOptions: {
      output: {
        codeSplitting: {
          // A page is few files: on a line with long round trips fifty small ones take longer than their bytes do.
          groups: [
            { name: 'initial', tags: ['$initial'], priority: 2 },
            // What so many pages share is one file, which all of them load; but for what they open later.
            { name: 'shared', minShareCount: 8, test: (id) => !LATER.test(id), priority: 1 },
          ],
        },
      },
    },
  },
  server: { proxy: { '/admin': 'http://127.0.0.1:8090' } },
});
