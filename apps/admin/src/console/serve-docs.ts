import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { RequestHandler, Response } from 'express';
import sirv from 'sirv';
import { SAFETY } from './serve-console.ts';

export const DOCS_PATH = '/docs/';
const SEARCH_DATA = 'search-data.js';

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

const COMPRESS = {
  br: (bytes: Buffer) =>
    promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
  gzip: (bytes: Buffer) => promisify(gzip)(bytes),
} as const;
type Encoding = keyof typeof COMPRESS;
const ENCODINGS = Object.keys(COMPRESS).filter((name): name is Encoding => name in COMPRESS);

/** The search's data are a third of the site: compressed once in a build's life, and kept from the first search on. */
function serveSearchData(file: string): RequestHandler {
  const kept = new Map<Encoding, { readonly etag: string; readonly bytes: Promise<Buffer> }>();

  return async (request, response, next) => {
    response.vary('accept-encoding');
    // The first of these that is accepted at all: browsers name gzip first, whatever else they take.
    const encoding = ENCODINGS.find((name) => request.acceptsEncodings(name));
    const facts = await stat(file).catch(() => null);
    if (encoding === undefined || facts === null) return next();
    const etag = `W/"${encoding}-${facts.size}-${facts.mtimeMs}"`;
    const one = kept.get(encoding);
    const bytes = one?.etag === etag ? one.bytes : readFile(file).then(COMPRESS[encoding]);
    kept.set(encoding, { etag, bytes });
    // What could not be read now may be read later.
    bytes.catch(() => kept.delete(encoding));
    response.type('js').set({ etag, 'cache-control': 'no-cache', 'content-encoding': encoding });
    response.send(await bytes);
  };
}

/**
 * Serves the documentation as the files that its build has written, to anybody: nothing in it is of this installation.
 *
 * @param basePath the path below which browsers see this service
 */
export function serveDocs(folder: string, basePath: string): RequestHandler {
  // `dev`: files are looked for at each request, because a later build has others. A browser asks each time whether one has changed.
  const files = sirv(folder, { dev: true, etag: true, extensions: [] });
  const searchData = serveSearchData(join(folder, SEARCH_DATA));
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
    const serveFile = () =>
      files(request, response, () =>
        existsSync(join(folder, 'index.html'))
          ? sendPage(response, 404, missing)
          : sendPage(response, 503, NOT_BUILT),
      );
    return request.path === `/${SEARCH_DATA}` ? searchData(request, response, serveFile) : serveFile();
  };
}

function sendPage(response: Response, status: number, text: string): void {
  response.status(status).setHeader('cache-control', 'no-store').type('html').send(text);
}
