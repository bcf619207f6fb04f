import { readFileSync } from 'node:fs';
import type { CompactionOrder } from '../call/request/requested-compaction.ts';
import { translateRequest } from '../conversion/translate-request.ts';
import type { Conversation } from '../neutral/conversation.ts';
import { refuseParameter } from '../neutral/losses.ts';
import type { ImagePart } from '../neutral/parts.ts';
import { SCALAR_PATHS } from '../neutral/scalar-paths.ts';
import type { AnswerPlan, Target } from '../neutral/target.ts';
import type { JsonObject } from '../wire/json-object.ts';
import type { OpaqueTokens } from '../wire/tokens/opaque-token.ts';
import { type TranscriptBounds, transcriptOf } from './transcript.ts';

/** The instructions for the summary. */
export const SUMMARY_PROMPT = readFileSync(new URL('./summary-prompt.md', import.meta.url), 'utf8').trim();

/**
 * Each for a conversation that did not fit into the model's context under the bounds before. The messages themselves are
 * never cut.
 */
export const TRANSCRIPT_BOUNDS: readonly TranscriptBounds[] = [
  { toolText: 12_000, document: 40_000, instructions: 16_000, images: 8 },
  { toolText: 2_000, document: 8_000, instructions: 4_000, images: 2 },
  { toolText: 400, document: 1_000, instructions: 1_000, images: 0 },
];

interface SummaryRequest {
  readonly model: string;
  readonly conversation: Conversation;
  readonly instructions: CompactionOrder['instructions'];
  readonly bounds: TranscriptBounds;
  readonly maxOutputTokens: number;
}

/** Which summary a candidate is to write. */
export interface SummaryWanted extends Omit<SummaryRequest, 'conversation' | 'bounds'> {
  /** The index of its bounds. */
  readonly level: number;
  readonly target: Target;
}

/** The request for a summary, as its candidate gets it. */
export interface WrittenSummaryRequest {
  readonly body: JsonObject;
  readonly plan: AnswerPlan;
}

/** @throws {GatewayError} for a conversation that cannot be summarised; as `translateRequest` */
export function writeSummaryRequest(
  conversation: Conversation,
  { level, target, ...wanted }: SummaryWanted,
  tokens: OpaqueTokens,
): WrittenSummaryRequest {
  const bounds = TRANSCRIPT_BOUNDS[level];
  if (bounds === undefined) throw new Error('no such bounds of a transcript');
  refuseUnshown(conversation);
  const body = summaryRequest({ ...wanted, conversation, bounds });
  return translateRequest({ caller: 'responses', body, target, tokens });
}

/** What would be missing in the summary without anybody knowing it. @throws {GatewayError} `unsupported_parameter` */
function refuseUnshown({ untranslatable, source }: Conversation): void {
  const turns = SCALAR_PATHS[source].turns[0];
  const unshown = untranslatable.find(({ path, loss }) => loss === 'E' && path[0] === turns);
  if (unshown !== undefined) refuseParameter(unshown.path, unshown.reason);
}

/** The request for a summary, in the Responses protocol; the gateway translates it to that of the channel. */
export function summaryRequest(options: SummaryRequest): JsonObject {
  const { conversation, instructions, bounds, model, maxOutputTokens } = options;
  const transcript = transcriptOf(conversation, bounds);
  const content = [
    { type: 'input_text', text: transcript.text },
    ...transcript.images.flatMap(shownImage),
    { type: 'input_text', text: 'Write the summary now.' },
  ];
  return {
    model,
    instructions: promptWith(instructions),
    input: [{ type: 'message', role: 'user', content }],
    max_output_tokens: maxOutputTokens,
    store: false,
    stream: true,
  };
}

function promptWith(instructions: CompactionOrder['instructions']): string {
  if (instructions === null) return SUMMARY_PROMPT;
  const { text, use } = instructions;
  return use === 'only' ? text : `${SUMMARY_PROMPT}\n\nThe caller adds:\n${text}`;
}

function shownImage({ source }: ImagePart): JsonObject[] {
  if (source.type === 'file') return [];
  const url = source.type === 'url' ? source.url : `data:${source.mediaType};base64,${source.data}`;
  return [{ type: 'input_image', image_url: url }];
}
