import { z } from 'zod';
import { listOf, maybe, maybeList, maybeNumber, maybeText } from '../json/reply-members.ts';

/**
 * The parts of a reply of Bedrock's Converse that translation reads, in their wire form. A block has one member, which names its
 * kind; blocks of other kinds are skipped. Bytes are base64.
 */

const placeInDocument = z.looseObject({ documentIndex: maybeNumber, start: maybeNumber, end: maybeNumber });

const citation = z.looseObject({
  title: maybeText,
  sourceContent: maybeList(z.looseObject({ text: maybeText })),
  location: maybe(
    z.looseObject({
      web: maybe(z.looseObject({ url: maybeText })),
      documentChar: maybe(placeInDocument),
      documentPage: maybe(placeInDocument),
      documentChunk: maybe(placeInDocument),
    }),
  ),
});
export type ConverseCitation = z.infer<typeof citation>;

/** `server_tool_use`: the provider runs it. */
const toolUse = z.looseObject({
  toolUseId: maybeText,
  name: z.string(),
  input: z.unknown().optional(),
  type: maybeText,
});

export const ConverseBlock = z.looseObject({
  text: maybeText,
  reasoningContent: maybe(
    z.looseObject({
      reasoningText: maybe(z.looseObject({ text: maybeText, signature: maybeText })),
      redactedContent: maybeText,
    }),
  ),
  toolUse: maybe(toolUse),
  citationsContent: maybe(
    z.looseObject({
      content: maybeList(z.looseObject({ text: maybeText })),
      citations: maybeList(citation),
    }),
  ),
});
export type ConverseBlock = z.infer<typeof ConverseBlock>;

/** How a reply ended: the same members in `messageStop`. */
const ending = { stopReason: maybeText, additionalModelResponseFields: z.unknown().optional() };
export type ConverseEnding = { [Key in keyof typeof ending]?: z.infer<(typeof ending)[Key]> };

/** What a reply says of its cost: the same members in `metadata`. */
const costs = { usage: z.unknown().optional(), serviceTier: maybe(z.looseObject({ type: maybeText })) };

export const ConverseReply = z.looseObject({
  output: z.looseObject({ message: z.looseObject({ content: listOf(ConverseBlock) }) }),
  ...ending,
  ...costs,
});

const placed = { contentBlockIndex: maybeNumber };

/** One event of a stream, below its name. */
export const ConverseEvent = z.looseObject({
  messageStart: maybe(z.looseObject({})),
  contentBlockStart: maybe(
    z.looseObject({ ...placed, start: maybe(z.looseObject({ toolUse: maybe(toolUse) })) }),
  ),
  contentBlockDelta: maybe(
    z.looseObject({
      ...placed,
      delta: maybe(
        z.looseObject({
          text: maybeText,
          toolUse: maybe(z.looseObject({ input: z.unknown().optional() })),
          reasoningContent: maybe(
            z.looseObject({ text: maybeText, signature: maybeText, redactedContent: maybeText }),
          ),
          citation: maybe(citation),
        }),
      ),
    }),
  ),
  contentBlockStop: maybe(z.looseObject(placed)),
  messageStop: maybe(z.looseObject(ending)),
  metadata: maybe(z.looseObject(costs)),
});
export type ConverseEvent = z.infer<typeof ConverseEvent>;
