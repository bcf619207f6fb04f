import type { Turn } from '../../../neutral/conversation.ts';
import { type Encoder, staysHome } from '../../../neutral/encoding/encoder.ts';
import { asSystemText, CONTINUATION_TEXT, textOf } from '../../../neutral/encoding/plain-text.ts';
import { settleTurns } from '../../../neutral/encoding/settle-turns.ts';
import { refuseParameter } from '../../../neutral/losses.ts';
import type { TextPart } from '../../../neutral/parts.ts';
import { pathsOf } from '../../../neutral/scalar-paths.ts';
import { type Block, encodePart } from './encode-content.ts';

interface Message {
  readonly role: 'user' | 'assistant' | 'system';
  content: Block[];
}

const isText = (part: { type: string }): part is TextPart => part.type === 'text';

/** Instructions in the middle: a system message where the model takes one there, else marked text of the user's. */
function encodeSystemTurn(
  turn: Turn,
  previous: Message | undefined,
  next: Turn | undefined,
  encoder: Encoder,
): Message {
  const content = turn.parts.filter(isText);
  const mayStand = previous?.role === 'user' && (next === undefined || next.role === 'assistant');
  if (encoder.target.quirks.systemMessages === 'anywhere' && mayStand) {
    return { role: 'system', content: content.flatMap((part) => encodePart(part, encoder)) };
  }
  return { role: 'user', content: [{ type: 'text', text: asSystemText(textOf(content, '\n\n')) }] };
}

/** Ends the list as the protocol wants: no trailing space in a last answer, and no answer last unless it is a prefill. */
function endWithUser(messages: Message[], encoder: Encoder): void {
  const last = messages.at(-1);
  if (last?.role !== 'assistant') return;
  if (!staysHome(encoder)) {
    messages.push({ role: 'user', content: [{ type: 'text', text: CONTINUATION_TEXT }] });
    return;
  }
  const block = last.content.at(-1);
  if (block?.type === 'text' && typeof block.text === 'string') {
    last.content = [...last.content.slice(0, -1), { ...block, text: block.text.trimEnd() }];
  }
}

/** The conversation as alternating messages that begin with the user's. */
export function encodeTurns(encoder: Encoder): Message[] {
  const turns = settleTurns(encoder.conversation, encoder.target);
  const messages: Message[] = [];
  for (const [index, turn] of turns.entries()) {
    const previous = messages.at(-1);
    const message: Message =
      turn.role === 'system'
        ? encodeSystemTurn(turn, previous, turns[index + 1], encoder)
        : { role: turn.role, content: turn.parts.flatMap((part) => encodePart(part, encoder)) };
    if (message.content.length === 0) continue;
    if (previous?.role === message.role) for (const block of message.content) previous.content.push(block);
    else messages.push(message);
  }
  if (messages.length === 0)
    refuseParameter(
      pathsOf(encoder.conversation).turns,
      'There is nothing to answer: every message is empty.',
    );
  if (messages[0]?.role !== 'user') {
    messages.unshift({ role: 'user', content: [{ type: 'text', text: CONTINUATION_TEXT }] });
  }
  endWithUser(messages, encoder);
  return messages;
}
