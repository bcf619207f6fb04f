import { refuseParameter } from '../protocols/conversation/losses.ts';
import { isJsonObject } from '../protocols/conversation/raw-json.ts';

/** Members of a Responses request that need a provider which keeps responses. */
const STATEFUL = ['background', 'conversation', 'prompt', 'previous_response_id'] as const;

/**
 * Refuses what only a channel of the Responses protocol can do: it keeps the conversation, the gateway does not.
 * @throws {GatewayError} `unsupported_parameter`
 */
export function refuseStateful(body: unknown): void {
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
