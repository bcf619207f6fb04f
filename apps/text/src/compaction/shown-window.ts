import { isObject, objectOf, textAt } from '../wire/json-object.ts';
import type { CompactedWindow } from '../wire/tokens/compaction-seal.ts';

/** How a summary is shown to the model that goes on from it. */
const HEADING =
  'The conversation before this point was compacted. This summary stands for it: go on from here as if you remembered it.\n\n';

/** The compacted window of a conversation, as items of a Responses input. */
export const shownItems = ({ before, summary, after }: CompactedWindow): readonly unknown[] => [
  ...before,
  { type: 'message', role: 'user', content: [{ type: 'input_text', text: HEADING + summary }] },
  ...after,
];

/** The same as messages of a Messages request. */
export const shownMessages = ({ before, summary, after }: CompactedWindow): readonly unknown[] => [
  ...before,
  summaryMessage(summary),
  ...after,
];

export const summaryMessage = (summary: string) => ({
  role: 'user',
  content: [{ type: 'text', text: HEADING + summary }],
});

/** Whether an item or a message is the summary of an earlier compaction, and not the user's own. */
export function isSummary(entry: unknown): boolean {
  const { content } = objectOf(entry);
  const [part] = Array.isArray(content) ? content : [];
  return isObject(part) && (textAt(part, 'text') ?? '').startsWith(HEADING);
}
