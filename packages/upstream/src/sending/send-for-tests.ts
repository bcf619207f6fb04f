import type { GatewayError } from '@gateway/contracts/gateway-error';
import type { Reply } from '../replies/reply.ts';
import type { Upstream } from '../upstream.ts';
import type { SendOptions } from './send.ts';

export const MAX_BYTES = 1_000_000;

/** Sends a Responses request for the model `small`. */
export const sendRequest = (upstream: Upstream, options: Partial<SendOptions> = {}): Promise<Reply> => {
  const model = upstream.resolveModel('small');
  if (model === null) throw new Error('no model');
  return upstream.send({
    candidates: upstream.candidates({ model, protocol: 'responses' }),
    request: (candidate) => ({
      operation: 'responses',
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: candidate.model }),
    }),
    dialect: 'openai',
    work: 'free',
    streamed: false,
    ...options,
  });
};

/** The error that `sendRequest` throws. */
export const refusal = (upstream: Upstream, options: Partial<SendOptions> = {}): Promise<GatewayError> =>
  sendRequest(upstream, options).then(
    () => Promise.reject(new Error('it was answered')),
    (thrown) => thrown,
  );

export const bodyOf = async (reply: Reply): Promise<unknown> =>
  JSON.parse((await reply.bytes(MAX_BYTES)).toString());
