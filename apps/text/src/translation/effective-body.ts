import { refuseParameter } from '../neutral/losses.ts';
import { isJsonObject } from '../wire/raw-json.ts';
import type { TextProtocol } from '../wire/text-protocol.ts';
import { effectiveMessages } from './effective-messages.ts';

/**
 * A caller's request as far as any provider can serve it: what only a provider of its own protocol does is done
 * here, or refused.
 *
 * @throws {GatewayError} `unsupported_parameter`
 */
export function effectiveBody(caller: TextProtocol, body: unknown): unknown {
  if (caller === 'responses') refuseStateful(body);
  return caller === 'messages' ? effectiveMessages(body) : body;
}

/** Members of a Responses request that need a provider which keeps responses. */
const STATEFUL = ['conversation', 'prompt', 'previous_response_id'] as const;

function refuseStateful(body: unknown): void {
  if (!isJsonObject(body)) return;
  for (const name of STATEFUL) {
    const value = body[name] ?? false;
    if (value === false) continue;
    refuseParameter(
      [name],
      `'${name}' is not available for this model: its provider does not keep responses.`,
    );
  }
}
