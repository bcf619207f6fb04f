import { countedBody } from '../endpoints/counting/count-endpoint.ts';
import { estimateTokens } from '../neutral/estimate-tokens.ts';
import { PROTOCOLS } from '../protocols/protocols.ts';
import { parseBody } from '../wire/raw-json.ts';
import type { TextProtocol } from '../wire/text-protocol.ts';
import { opaqueTokens, type TokenKey } from '../wire/tokens/opaque-token.ts';
import { bufferOf } from './shared-bytes.ts';

export interface CountTask {
  readonly caller: TextProtocol;
  readonly bytes: Uint8Array;
  readonly tokens: TokenKey;
}

/** Estimates the tokens of a request. @throws {GatewayError} for what cannot be counted */
export function countTask({ caller, bytes, tokens }: CountTask): Promise<number> {
  const body = countedBody(caller, parseBody(bufferOf(bytes).toString()));
  return estimateTokens(PROTOCOLS[caller].decodeRequest(body, opaqueTokens(tokens)));
}
