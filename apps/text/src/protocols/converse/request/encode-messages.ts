import type { Turn } from '../../../neutral/conversation.ts';
import { asSystemText, CONTINUATION_TEXT, textOf } from '../../../neutral/encoding/plain-text.ts';
import { refusePrefill, settleTurns } from '../../../neutral/encoding/settle-turns.ts';
import { refuseParameter } from '../../../neutral/losses.ts';
import type { TextPart } from '../../../neutral/parts.ts';
import { pathsOf } from '../../../neutral/scalar-paths.ts';
import type { CachePoints } from './cache-points.ts';
import type { Block, BlockEncoder } from './documents.ts';
import { encodePart } from './encode-content.ts';

interface Message {
  readonly role: 'user' | 'assistant' | 'system';
  readonly content: Block[];
}

/** Stands beside documents that come without a text: one is demanded. */
const DOCUMENT_TEXT = '(documents)';

const isText = (part: { type: string }): part is TextPart => part.type === 'text';

/**
 * The conversation as alternating messages that begin and end with the user's. All results of one answer's calls are in one.
 *
 * @param head instructions for models that take none apart
 */
export function encodeMessages(
  encoder: BlockEncoder,
  points: CachePoints,
  head: readonly Block[],
): Message[] {
  const { conversation, target } = encoder;
  const turns = settleTurns(conversation, target);
  refusePrefill(turns, encoder);
  const messages: Message[] = head.length === 0 ? [] : [{ role: 'user', content: [...head] }];
  for (const [index, turn] of turns.entries()) {
    const previous = messages.at(-1);
    const message =
      turn.role === 'system'
        ? encodeSystemTurn(turn, previous, turns[index + 1], encoder)
        : { role: turn.role, content: [] };
    if (turn.role !== 'system')
      for (const part of turn.parts) {
        const blocks = encodePart(part, encoder);
        if (blocks.length > 0) message.content.push(...blocks, ...points.after(part.at, 'messages'));
      }
    if (message.content.length === 0) continue;
    if (previous?.role === message.role) for (const block of message.content) previous.content.push(block);
    else messages.push(message);
  }
  if (messages.length === 0)
    refuseParameter(pathsOf(conversation).turns, 'There is nothing to answer: every message is empty.');
  if (messages[0]?.role !== 'user') messages.unshift(continuation());
  const last = messages.at(-1);
  if (last?.role === 'assistant') messages.push(continuation());
  else last?.content.push(...points.after([], 'messages'));
  for (const { role, content } of messages) {
    if (
      role === 'user' &&
      content.some((block) => 'document' in block) &&
      !content.some((block) => 'text' in block)
    )
      content.push({ text: DOCUMENT_TEXT });
  }
  return messages;
}

const continuation = (): Message => ({ role: 'user', content: [{ text: CONTINUATION_TEXT }] });

/** Instructions in the middle stay in their place, since what comes before them is in the model's cache. */
function encodeSystemTurn(
  { parts }: Turn,
  previous: Message | undefined,
  next: Turn | undefined,
  { target }: BlockEncoder,
): Message {
  const text = textOf(parts.filter(isText), '\n\n');
  if (text.trim() === '') return { role: 'user', content: [] };
  const mayStand = previous?.role === 'user' && (next === undefined || next.role === 'assistant');
  if (target.quirks.systemMessages === 'anywhere' && mayStand) return { role: 'system', content: [{ text }] };
  return { role: 'user', content: [{ text: asSystemText(text) }] };
}
