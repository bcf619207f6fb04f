import type { Turn } from '../../../neutral/conversation.ts';
import { historyCallId } from '../../../neutral/encoding/call-ids.ts';
import type { Encoder } from '../../../neutral/encoding/encoder.ts';
import { isShown } from '../../../neutral/encoding/part-blocks.ts';
import { asSystemText, CONTINUATION_TEXT, MOVED_TEXT, textOf } from '../../../neutral/encoding/plain-text.ts';
import { refusePrefill, settleTurns } from '../../../neutral/encoding/settle-turns.ts';
import { refuseParameter } from '../../../neutral/losses.ts';
import type { TextPart, ToolResultPart } from '../../../neutral/parts.ts';
import { pathsOf } from '../../../neutral/scalar-paths.ts';
import { encodeShown, type GeminiPart, isMedia, textPart } from './encode-content.ts';
import { encodeModelParts } from './encode-model-parts.ts';

interface Content {
  readonly role: 'user' | 'model';
  readonly parts: GeminiPart[];
}

const isText = (part: { type: string }): part is TextPart => part.type === 'text';
const isResult = (part: { type: string }): part is ToolResultPart => part.type === 'tool-result';

/** The conversation as contents, which begin and end with the user's. */
export function encodeContents(encoder: Encoder): Content[] {
  const turns = settleTurns(encoder.conversation, encoder.target);
  refusePrefill(turns, encoder);
  const names = callNames(turns, encoder);
  const current = turns.findLastIndex((turn) => turn.role === 'user' && !turn.parts.some(isResult));
  const contents: Content[] = [];
  for (const [index, turn] of turns.entries()) {
    for (const content of encodeTurn(turn, { encoder, names, isCurrent: index > current })) {
      if (content.parts.length === 0) continue;
      const previous = contents.at(-1);
      if (previous?.role === content.role && !hasResults(previous) && !hasResults(content))
        for (const part of content.parts) previous.parts.push(part);
      else contents.push(content);
    }
  }
  if (contents.length === 0)
    refuseParameter(
      pathsOf(encoder.conversation).turns,
      'There is nothing to answer: every message is empty.',
    );
  const silent = (): Content => ({ role: 'user', parts: [textPart(CONTINUATION_TEXT)] });
  if (contents[0]?.role !== 'user') contents.unshift(silent());
  if (contents.at(-1)?.role !== 'user') contents.push(silent());
  return contents;
}

/** A content has nothing but results, or none. */
const hasResults = ({ parts: [first] }: Content): boolean =>
  first !== undefined && 'functionResponse' in first;

/** The name of each call, which its result repeats. */
const callNames = (turns: readonly Turn[], { names }: Encoder): ReadonlyMap<string, string> =>
  new Map(
    turns.flatMap(({ parts }) =>
      parts.flatMap((part): [string, string][] =>
        part.type === 'tool-call' ? [[part.id, names.upstreamName(part)]] : [],
      ),
    ),
  );

interface TurnContext {
  readonly encoder: Encoder;
  readonly names: ReadonlyMap<string, string>;
  /** It comes after the last message of the user's. */
  readonly isCurrent: boolean;
}

function encodeTurn({ role, parts }: Turn, context: TurnContext): Content[] {
  const { encoder } = context;
  if (role === 'assistant')
    return [{ role: 'model', parts: encodeModelParts(parts, encoder, context.isCurrent) }];
  if (role === 'system')
    return [{ role: 'user', parts: [textPart(asSystemText(textOf(parts.filter(isText), '\n\n')))] }];
  const results = parts.filter(isResult);
  if (results.length > 0) return encodeResults(results, context);
  return [{ role: 'user', parts: parts.filter(isShown).flatMap((part) => encodeShown(part, encoder)) }];
}

/** Results in the order of their calls, as Gemini pairs them. What it cannot have in a result, the user shows after them. */
function encodeResults(results: readonly ToolResultPart[], { encoder, names }: TurnContext): Content[] {
  const { toolResultMedia, toolCallIds } = encoder.target.quirks;
  const moved: GeminiPart[] = [];
  const parts = results.map(({ callId, content, isError }): GeminiPart => {
    const shown = content.flatMap((part) => encodeShown(part, encoder));
    const media = shown.filter(isMedia);
    const texts = shown.flatMap((part) => (typeof part.text === 'string' ? [part.text] : []));
    if (!toolResultMedia && media.length > 0) {
      for (const one of media) moved.push(one);
      texts.push(MOVED_TEXT);
    }
    return {
      functionResponse: {
        ...(toolCallIds !== 'none' && { id: historyCallId(callId) }),
        name: names.get(callId) ?? '',
        response: { [isError ? 'error' : 'output']: texts.join('\n') },
        ...(toolResultMedia && media.length > 0 && { parts: media }),
      },
    };
  });
  const contents: Content[] = [{ role: 'user', parts }];
  return moved.length > 0 ? [...contents, { role: 'user', parts: moved }] : contents;
}
