import { type ConverseBlock, ConverseReply } from '@gateway/contracts/amazon/converse-wire';
import type { ReplyPart } from '../../../neutral/parts.ts';
import type { Reply } from '../../../neutral/reply/reply.ts';
import type { Target } from '../../../neutral/target.ts';
import { isJsonObject } from '../../../wire/raw-json.ts';
import { readUpstream } from '../../../wire/read-upstream.ts';
import { NO_USAGE } from '../../../wire/usage.ts';
import { decodeCitation } from './citations.ts';
import { decodeFinish } from './finish-reason.ts';
import { ownPayload } from './payloads.ts';
import { decodeTier, readUsage } from './usage.ts';

/** A finished reply of Converse. @throws GatewayError `upstream_failed` where it is not one */
export function decodeConverseReply(body: unknown, target: Target): Reply {
  const reply = readUpstream(ConverseReply, body);
  const parts = reply.output.message.content.flatMap((block) => decodeBlock(block, target));
  const tier = decodeTier(reply.serviceTier);
  return {
    parts,
    finish: decodeFinish(reply, { calls: parts.some(({ type }) => type === 'tool-call') }),
    usage: readUsage(reply) ?? NO_USAGE,
    ...(tier && { serviceTier: tier }),
  };
}

function decodeBlock(block: ConverseBlock, target: Target): ReplyPart[] {
  const { text, reasoningContent: reasoning, toolUse: call, citationsContent: cited } = block;
  if (text !== undefined) return [{ type: 'text', text }];
  if (call !== undefined)
    return isOwnCall(call)
      ? [{ type: 'tool-call', id: call.toolUseId ?? '', name: call.name, arguments: argumentsOf(call.input) }]
      : [];
  if (cited !== undefined) {
    const whole = (cited.content ?? []).map(({ text: piece = '' }) => piece).join('');
    const citations = (cited.citations ?? []).flatMap((one) => decodeCitation(one, whole.length) ?? []);
    return [{ type: 'text', text: whole, ...(citations.length > 0 && { citations }) }];
  }
  if (reasoning?.redactedContent !== undefined) {
    const payload = ownPayload('redacted', reasoning.redactedContent, target);
    return [{ type: 'reasoning', form: 'summary', texts: [], payload }];
  }
  if (reasoning?.reasoningText === undefined) return [];
  const { text: thought = '', signature } = reasoning.reasoningText;
  const payload = signature ? ownPayload('signature', signature, target) : undefined;
  return [{ type: 'reasoning', form: 'summary', texts: thought === '' ? [] : [thought], payload }];
}

/** Whether the caller has to run it. */
export const isOwnCall = ({ type }: { readonly type?: string | undefined }): boolean =>
  type !== 'server_tool_use';

/** The text of a call's input. */
export function argumentsOf(input: unknown): string {
  if (typeof input === 'string') return input || '{}';
  return isJsonObject(input) ? JSON.stringify(input) : '{}';
}
