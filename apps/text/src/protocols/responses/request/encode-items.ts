import type { Turn } from '../../../neutral/conversation.ts';
import { historyCallId } from '../../../neutral/encoding/call-ids.ts';
import type { Encoder } from '../../../neutral/encoding/encoder.ts';
import { isShown } from '../../../neutral/encoding/part-blocks.ts';
import { refusePrefill, settleTurns } from '../../../neutral/encoding/settle-turns.ts';
import type { Part, ReasoningPart, ToolCallPart, ToolResultPart } from '../../../neutral/parts.ts';
import { acceptsPayload } from '../../../neutral/target.ts';
import { encodeOutput, encodeShown } from './encode-content.ts';

type Item = { readonly [member: string]: unknown };

const message = (role: string, content: readonly object[]): Item => ({ type: 'message', role, content });

/** The whole conversation after the instructions, as input items. */
export function encodeItems(encoder: Encoder): Item[] {
  const turns = settleTurns(encoder.conversation, encoder.target);
  refusePrefill(turns, encoder);
  return turns.flatMap((turn) => encodeTurn(turn, encoder));
}

/** Parts in their order; neighbouring parts of a message share one item. */
function encodeTurn({ role, parts }: Turn, encoder: Encoder): Item[] {
  const items: Item[] = [];
  let content: object[] = [];
  const flush = () => {
    if (content.length > 0) items.push(message(role === 'system' ? 'developer' : role, content));
    content = [];
  };
  for (const part of parts) {
    const own = encodeOwnItem(part, encoder);
    if (own === null) content.push(...encodeMessagePart(part, role, encoder));
    else {
      flush();
      items.push(...own);
    }
  }
  flush();
  return items;
}

/** Items of parts that are not in a message; null for those that are. */
function encodeOwnItem(part: Part, encoder: Encoder): Item[] | null {
  switch (part.type) {
    case 'tool-call':
      return [encodeCall(part, encoder)];
    case 'tool-result':
      return [encodeResult(part, encoder)];
    case 'reasoning':
      return encodeReasoning(part, encoder);
    case 'foreign':
    case 'web-search':
      return [];
    default:
      return null;
  }
}

function encodeMessagePart(part: Part, role: Turn['role'], encoder: Encoder): object[] {
  switch (part.type) {
    case 'refusal':
      return [{ type: 'refusal', refusal: part.text }];
    case 'text':
      if (role === 'assistant') return part.text === '' ? [] : [{ type: 'output_text', text: part.text }];
      return [{ type: 'input_text', text: part.text }];
    default:
      return isShown(part) ? encodeShown(part, encoder) : [];
  }
}

function encodeCall(call: ToolCallPart, { names, target }: Encoder): Item {
  const identity = {
    call_id: historyCallId(call.id, target.quirks.toolCallIds),
    name: names.upstreamName(call),
  };
  return call.custom
    ? { type: 'custom_tool_call', ...identity, input: call.arguments }
    : { type: 'function_call', ...identity, arguments: call.arguments || '{}' };
}

function encodeResult(result: ToolResultPart, encoder: Encoder): Item {
  return {
    type: result.custom ? 'custom_tool_call_output' : 'function_call_output',
    call_id: historyCallId(result.callId, encoder.target.quirks.toolCallIds),
    output: encodeOutput(result, encoder),
  };
}

function encodeReasoning(
  { payload, texts, form, at = [] }: ReasoningPart,
  { target, losses }: Encoder,
): Item[] {
  if (payload !== undefined && acceptsPayload(target, payload)) {
    if (payload.kind === 'encrypted') {
      const summary = form === 'summary' ? texts.map((text) => ({ type: 'summary_text', text })) : [];
      return [{ type: 'reasoning', summary, encrypted_content: payload.data }];
    }
    if (payload.kind === 'trace') {
      const content = texts.map((text) => ({ type: 'reasoning_text', text }));
      return [{ type: 'reasoning', summary: [], content }];
    }
  }
  losses.drop(at, "reasoning that is not this upstream's own");
  return [];
}
