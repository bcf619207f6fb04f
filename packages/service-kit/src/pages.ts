import type { IncomingMessage, ServerResponse } from 'node:http';
import { pathOf } from '@gateway/contracts/endpoints/path-table';

/** Answers GET, and HEAD by the same head. */
export type Page = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

/** By their paths, in which case does not count, nor a slash at the end. */
export type Pages = Readonly<Record<string, Page>>;

/** Serves pages that are no endpoints, such as those of probes and of who operates the gateway. What they throw goes to `next`. */
export function servePages(pages: Pages) {
  const byPath = new Map(Object.entries(pages));
  return (request: IncomingMessage, response: ServerResponse, next: (error?: unknown) => void): void => {
    const { method, url = '/' } = request;
    const page = method === 'GET' || method === 'HEAD' ? byPath.get(plain(pathOf(url))) : undefined;
    if (page === undefined) next();
    else answer(page, request, response).catch(next);
  };
}

async function answer(page: Page, request: IncomingMessage, response: ServerResponse): Promise<void> {
  await page(request, response);
}

const plain = (path: string): string => path.toLowerCase().replace(/(?<=.)\/$/, '');

/** Writes a whole page. */
export function writePage(
  response: ServerResponse,
  { status = 200, type, text }: { readonly status?: number; readonly type: string; readonly text: string },
): void {
  response.writeHead(status, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(text) }).end(text);
}

/** @param json is written as it is where it is text */
export const writeJsonPage = (response: ServerResponse, json: unknown, status = 200): void =>
  writePage(response, {
    status,
    type: 'application/json; charset=utf-8',
    text: typeof json === 'string' ? json : JSON.stringify(json),
  });
