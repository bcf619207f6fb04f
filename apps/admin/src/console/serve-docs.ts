import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { RequestHandler, Response } from 'express';
import sirv from 'sirv';
import { SAFETY } from './serve-console.ts';

export const DOCS_PATH = '/docs/';

/** The pages are files that load files of the same folder, and nothing else. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const page = (title: string, text: string): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<h1>${title}</h1>
${text}
</html>
`;

const NOT_BUILT = page(
  'The documentation is not built',
  `<p>The folder <code>apps/docs/site</code> is missing. Run <code>npm run docs:build</code> in the gateway's folder, or read the Markdown
files in <code>docs/</code>.</p>`,
);

/**
 * Serves the documentation as the files that its build has written, to anybody: nothing in it is of this installation.
 *
 * @param basePath the path below which browsers see this service
 */
export function serveDocs(folder: string, basePath: string): RequestHandler {
  // `dev`: files are looked for at each request, because a later build has others. A browser asks each time whether one has changed.
  const files = sirv(folder, { dev: true, etag: true, extensions: [] });
  const missing = page(
    'No such page',
    `<p><a href="${basePath}${DOCS_PATH}">The documentation's first page</a> has the menu and the search.</p>`,
  );

  return (request, response) => {
    if (request.method !== 'GET' && request.method !== 'HEAD')
      throw new GatewayError('method_not_allowed', {
        message: `Not allowed to ${request.method} here. Allowed: GET, HEAD.`,
        headers: { allow: 'GET, HEAD' },
      });
    for (const [name, value] of Object.entries(SAFETY)) response.setHeader(name, value);
    response.setHeader('content-security-policy', POLICY);
    if (!request.originalUrl.startsWith(DOCS_PATH)) return response.redirect(basePath + DOCS_PATH);
    if (request.path.endsWith('/')) request.url = `${request.path}index.html`;
    files(request, response, () =>
      existsSync(join(folder, 'index.html'))
        ? sendPage(response, 404, missing)
        : sendPage(response, 503, NOT_BUILT),
    );
  };
}

function sendPage(response: Response, status: number, text: string): void {
  response.status(status).setHeader('cache-control', 'no-store').type('html').send(text);
}
