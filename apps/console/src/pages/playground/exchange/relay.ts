import * as z from 'zod/mini';
import { BASE_PATH } from '../../../api/base-path.ts';
import { type Call, headersOf } from './call.ts';

/** An answer that is an error, in whichever protocol's words; or none at all. */
export class RelayError extends Error {
  override readonly name = 'RelayError';
  /** 0: there was no answer. */
  readonly status: number;
  /** The protocol's code or type. */
  readonly code: string | null;
  readonly requestId: string | null;

  constructor(message: string, facts: { status: number; code: string | null; requestId: string | null }) {
    super(message);
    this.status = facts.status;
    this.code = facts.code;
    this.requestId = facts.requestId;
  }
}

/** What the error bodies of OpenAI's protocols, of Messages and of the admin API have in common. */
export const ErrorBody = z.object({
  error: z.object({
    message: z.string(),
    code: z.optional(z.nullable(z.string())),
    type: z.optional(z.nullable(z.string())),
  }),
});

export interface Sender {
  /** The key that the request is sent with. */
  readonly keyId: string;
  readonly signal: AbortSignal;
}

/** Below it the admin service has the edge's paths. */
const RELAY = `${BASE_PATH}/admin/v1/playground`;

/**
 * Sends a request of the person's to the gateway, with the key that the admin service looks up.
 *
 * @throws {RelayError} for every answer that is no success
 */
export function relay(call: Call, sender: Sender): Promise<Response> {
  const { body } = call;
  if (body.kind === 'form') {
    const form = new FormData();
    for (const [name, value] of body.parts) form.append(name, value);
    return ask(call.path, { method: 'POST', body: form, headers: headersOf(call) }, sender);
  }
  const headers = { ...headersOf(call), 'content-type': 'application/json' };
  return ask(call.path, { method: 'POST', body: JSON.stringify(body.json), headers }, sender);
}

/** Reads something of the key's, such as a job. @throws {RelayError} as `relay` */
export const relayGet = (path: string, sender: Sender): Promise<Response> =>
  ask(path, { method: 'GET', headers: {} }, sender);

async function ask(
  path: string,
  request: { method: string; headers: Readonly<Record<string, string>>; body?: BodyInit },
  { keyId, signal }: Sender,
): Promise<Response> {
  const response = await fetch(`${RELAY}${path}`, {
    ...request,
    headers: { ...request.headers, 'x-playground-key': keyId },
    credentials: 'same-origin',
    signal,
  }).catch((cause: unknown) => {
    if (signal.aborted) throw cause;
    const message = 'The gateway is not responding. Is it running, and are you online?';
    throw new RelayError(message, { status: 0, code: null, requestId: null });
  });
  if (!response.ok) throw await errorOf(response);
  return response;
}

async function errorOf(response: Response): Promise<RelayError> {
  const body: unknown = await response.json().catch(() => null);
  const { data } = ErrorBody.safeParse(body);
  return new RelayError(data?.error.message ?? `The gateway answered with status ${response.status}.`, {
    status: response.status,
    code: data?.error.code ?? data?.error.type ?? null,
    requestId: response.headers.get('x-request-id'),
  });
}
