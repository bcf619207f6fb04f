import type { Quirks } from '@gateway/contracts/quirks';
import type { Candidate } from '@gateway/upstream/candidate';
import type { ResolvedModel } from '@gateway/upstream/catalog';
import { type ConversationProtocol, isConversationProtocol } from '@gateway/upstream/protocol';
import type { Vendor } from '../../neutral/parts.ts';
import type { Target } from '../../neutral/target.ts';
import { makerAt, makerName } from '../../stored/origins/maker.ts';

/** The vendor whose sealed reasoning the channels of a protocol make and accept, where their quirks name no other. */
const VENDORS: Readonly<Record<ConversationProtocol, Vendor>> = {
  responses: 'openai',
  messages: 'anthropic',
  chat: 'open',
  gemini: 'google',
  converse: 'amazon',
};

/** The default bound on the output for protocols that require one, in tokens. */
const DEFAULT_MAX_OUTPUT_TOKENS = 32_000;

/** The protocol of a candidate for a conversation. */
export function conversationProtocolOf({ protocol, channel }: Candidate): ConversationProtocol {
  if (isConversationProtocol(protocol)) return protocol;
  // What is read of a completion is where a chat has it.
  if (protocol === 'completions') return 'chat';
  throw new Error(`channel ${channel.name} was chosen for a conversation under the protocol ${protocol}`);
}

/** Over Chat, reasoning is plain text, also that of vendors that seal it under their own protocols: what servers seal in members of their own is not carried. */
export const vendorOf = (protocol: ConversationProtocol, { reasoningVendor }: Quirks): Vendor =>
  protocol === 'chat' ? VENDORS.chat : (reasoningVendor ?? VENDORS[protocol]);

/** What sealed reasoning is bound to. Google's is another model's as little as another project's. */
function scopeOf(candidate: Candidate, vendor: Vendor): string {
  const maker = makerName(makerAt(candidate));
  return vendor === 'google' ? `${maker} ${candidate.model}` : maker;
}

/** What the translation needs to know about a candidate. */
export function targetOf(candidate: Candidate, model: ResolvedModel): Target {
  const { channel, route } = candidate;
  const protocol = conversationProtocolOf(candidate);
  const vendor = vendorOf(protocol, route.quirks);
  return {
    protocol,
    model: candidate.model,
    vendor,
    scope: scopeOf(candidate, vendor),
    quirks: route.quirks,
    maxOutputTokens: model.maxOutputTokens ?? DEFAULT_MAX_OUTPUT_TOKENS,
    ...(channel.guardrail !== null && { guardrail: channel.guardrail }),
    builtInTools: route.builtInTools,
    dropUnavailableTools: model.dropUnavailableTools,
    forwardUserIds: channel.forwardUserIds,
  };
}
