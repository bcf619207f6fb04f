import type { IncomingHttpHeaders } from 'node:http';
import type { Reply } from '../replies/reply.ts';
import type { RecordedRequest } from '../requests/recorded-request.ts';

/** The request to the models that a cloud has let in. */
export interface Admitted {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** What stands in front of the models at a cloud: who may call, in which form, and what is refused there. */
export interface Cloud {
  /** A reply is a refusal. Null: the request is for no model of this cloud, and is answered as by the simulator alone. */
  admit(request: RecordedRequest): Admitted | Reply | null;
}

export const refusal = (
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Reply => ({
  status,
  contentType: 'application/json',
  headers,
  chunks: [JSON.stringify(body)],
  isStream: false,
});

/** 400 in the words of Anthropic's models, which answer behind the gate of each cloud. */
export const refusedByModel = (message: string): Reply =>
  refusal(400, { type: 'error', error: { type: 'invalid_request_error', message } });

/** The headers of a request that came through a cloud's gate, as the models behind it see them. */
export const behindGate = (
  { 'x-api-key': _, 'api-key': __, authorization: ___, ...headers }: IncomingHttpHeaders,
  more: IncomingHttpHeaders = {},
): IncomingHttpHeaders => ({
  ...headers,
  'x-api-key': 'behind-the-gate',
  'anthropic-version': '2023-06-01',
  ...more,
});
