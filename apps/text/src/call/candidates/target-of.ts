import type { Candidate } from '@gateway/upstream/candidate';
import type { ResolvedModel } from '@gateway/upstream/catalog';
import type { Target } from '../../neutral/target.ts';
import { makerAt, makerName } from '../../stored/origins/maker.ts';
import type { TextProtocol } from '../../wire/text-protocol.ts';

/** The vendor whose sealed reasoning the channels of a protocol make and accept. */
const VENDORS = { responses: 'openai', messages: 'anthropic', chat: 'open' } as const;

/** The default bound on the output for protocols that require one, in tokens. */
const DEFAULT_MAX_OUTPUT_TOKENS = 32_000;

/** The protocol of a candidate for a conversation. */
export function textProtocolOf({ protocol, channel }: Candidate): TextProtocol {
  if (protocol === 'responses' || protocol === 'messages' || protocol === 'chat') return protocol;
  throw new Error(`channel ${channel.name} was chosen for a conversation under the protocol ${protocol}`);
}

/** What the translation needs to know about a candidate. */
export function targetOf(candidate: Candidate, model: ResolvedModel): Target {
  const { channel, route } = candidate;
  const protocol = textProtocolOf(candidate);
  return {
    protocol,
    model: candidate.model,
    vendor: VENDORS[protocol],
    scope: makerName(makerAt(candidate)),
    quirks: route.quirks,
    maxOutputTokens: model.maxOutputTokens ?? DEFAULT_MAX_OUTPUT_TOKENS,
    builtInTools: route.builtInTools,
    dropUnavailableTools: model.dropUnavailableTools,
    forwardUserIds: channel.forwardUserIds,
  };
}
