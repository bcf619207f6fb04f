import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { RequestHandler, Response } from 'express';
import sirv from 'sirv';
import { preloadsOf } from './page-preloads.ts';

export const CONSOLE_PATH = '/console/';

/** Stands in the built page wherever a nonce belongs; apps/console/vite.config.ts writes it. */
const NONCE_PLACEHOLDER = 'CONSOLE_NONCE';
/** How the built page begins the addresses of its files. */
const BUILT_PATH = `="${CONSOLE_PATH}`;
const A_YEAR = 'public, max-age=31536000, immutable';

/**
 * The page loads nothing from other servers and runs nothing that is not a file of the build. The component library makes `<style>`
 * elements for its media queries: they carry the nonce. `blob:` is for media that the page made or got itself.
 */
const policyOf = (nonce: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data: blob:",
    "media-src 'self' blob:",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; ');

/** What every page of this service is sent with, beside its own policy. */
export const SAFETY = {
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(self)',
} as const;

const NOT_BUILT = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="refresh" content="3">
<title>Console: not built yet</title>
<h1>The console is not built yet</h1>
<p><code>npm start</code> builds it in the background, within half a minute after the first start. This page tries again every 3 seconds.</p>
<p>If it stays like this, run <code>npm run console:build</code> in the gateway's folder and read what it prints.</p>
</html>
`;

/**
 * Serves the console's files from the folder that its build writes; the build may come while this runs. All paths without a file are
 * the one page, which knows its own paths.
 *
 * @param basePath the path below which browsers see this service
 */
export function serveConsole(folder: string, basePath: string): RequestHandler {
  // `dev`: files are looked for at each request, because a later build has others.
  const files = sirv(join(folder, 'assets'), { dev: true, brotli: true, gzip: true, setHeaders: keep });

  return async (request, response, next) => {
    if (request.method !== 'GET' && request.method !== 'HEAD')
      throw new GatewayError('method_not_allowed', {
        message: `Not allowed to ${request.method} here. Allowed: GET, HEAD.`,
        headers: { allow: 'GET, HEAD' },
      });
    for (const [name, value] of Object.entries(SAFETY)) response.setHeader(name, value);
    if (!request.originalUrl.startsWith(CONSOLE_PATH)) return response.redirect(basePath + CONSOLE_PATH);
    if (!request.path.startsWith('/assets/'))
      return sendPage(response, await readPage(folder, request.url, basePath), basePath);
    request.url = request.url.slice('/assets'.length);
    files(request, response, () => {
      next(new GatewayError('path_not_found', `There is no file ${request.originalUrl}.`));
    });
  };
}

const keep = (response: { setHeader(name: string, value: string): unknown }): void =>
  void response.setHeader('cache-control', A_YEAR);

async function readPage(folder: string, address: string, basePath: string): Promise<string | undefined> {
  try {
    const names = ['index.html', join('.vite', 'manifest.json')];
    const [page = '', manifest = ''] = await Promise.all(
      names.map((name) => readFile(join(folder, name), 'utf8')),
    );
    return page.replace('</head>', () => `${preloadsOf(manifest, address, basePath)}</head>`);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

function sendPage(response: Response, page: string | undefined, basePath: string): void {
  const nonce = randomBytes(16).toString('base64');
  response.setHeader('content-security-policy', policyOf(nonce));
  response.setHeader('cache-control', 'no-store');
  response.type('html');
  if (page === undefined) response.status(503).setHeader('retry-after', '3').send(NOT_BUILT);
  else
    response.send(
      page.replaceAll(NONCE_PLACEHOLDER, nonce).replaceAll(BUILT_PATH, `="${basePath}${CONSOLE_PATH}`),
    );
}
