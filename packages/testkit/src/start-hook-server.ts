import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { json } from 'node:stream/consumers';

/** What a hook got. */
export interface HookRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Record<string, unknown>;
  readonly texts: readonly string[];
}

/** An answer, or a fault: it hangs until it is freed, or ends the connection. */
export type HookAnswer =
  | { readonly json: unknown; readonly status?: number; readonly headers?: Record<string, string> }
  | { readonly raw: string; readonly status?: number }
  | { readonly fault: 'hang' | 'die' };

export interface HookServer extends AsyncDisposable {
  readonly url: string;
  /** What it was sent, oldest first. */
  readonly requests: readonly HookRequest[];
  /** How it answers from now on. */
  answer(how: (request: HookRequest) => HookAnswer | Promise<HookAnswer>): void;
  /** Forgets what it was sent, and lets everything pass. */
  reset(): void;
}

export const NONE: HookAnswer = { json: { action: 'NONE' } };
export const BLOCKED: HookAnswer = { json: { action: 'BLOCKED', blocked_reason: 'it is on the list' } };

/** Answers with these texts. */
export const intervened = (texts: readonly string[]): HookAnswer => ({
  json: { action: 'GUARDRAIL_INTERVENED', texts },
});

/** A server that checks texts by LiteLLM's generic guardrail API, as far as a test tells it to. */
export async function startHookServer(): Promise<HookServer> {
  let how: (request: HookRequest) => HookAnswer | Promise<HookAnswer> = () => NONE;
  const requests: HookRequest[] = [];
  const server = createServer(async (request, response) => {
    const body = await json(request).catch(() => ({}));
    const members = typeof body === 'object' && body !== null ? { ...body } : {};
    const texts: unknown = Reflect.get(members, 'texts');
    const got: HookRequest = {
      path: request.url ?? '',
      headers: request.headers,
      body: members,
      texts: Array.isArray(texts) ? texts.map(String) : [],
    };
    requests.push(got);
    const answer = await how(got);
    if ('fault' in answer) {
      if (answer.fault === 'die') response.destroy();
      return;
    }
    const text = 'raw' in answer ? answer.raw : JSON.stringify(answer.json);
    const headers = 'headers' in answer ? answer.headers : {};
    response.writeHead(answer.status ?? 200, { 'content-type': 'application/json', ...headers });
    response.end(text);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    requests,
    answer: (next) => {
      how = next;
    },
    reset: () => {
      how = () => NONE;
      requests.length = 0;
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
