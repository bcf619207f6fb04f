import { END_MARK } from '@gateway/contracts/event-stream/stream-events';
import { reportsFailure } from '@gateway/upstream/first-output/reported-error';
import type { StreamEvent } from '../../../neutral/reply/stream-event.ts';
import type { Target } from '../../../neutral/target.ts';
import { objectOf, textAt } from '../../../wire/json-object.ts';
import { decodeFailure } from '../../../wire/openai-errors.ts';
import type { CleanText } from '../../../wire/public-message.ts';
import { parseExactly } from '../../../wire/raw-json.ts';
import { upstreamCutOff } from '../../../wire/read-upstream.ts';
import type { StreamStep } from '../../../wire/stream/step.ts';
import { NO_USAGE, type Usage } from '../../../wire/usage.ts';
import { AnswerReader } from './answer-reader.ts';

/** A stream of `streamGenerateContent?alt=sse`, as neutral events. It ends without a mark. */
export class GeminiStreamDecoder implements StreamStep<string, StreamEvent> {
  readonly #reader: AnswerReader;
  readonly #clean: CleanText;
  #ended = false;
  model: string | null = null;

  constructor(target: Target, clean: CleanText) {
    this.#reader = new AnswerReader(target, clean);
    this.#clean = clean;
  }

  *event(data: string): Generator<StreamEvent> {
    if (this.#ended || data.trim() === END_MARK) return;
    const frame: unknown = JSON.parse(data);
    this.model ??= textAt(objectOf(frame), 'modelVersion');
    if (!reportsFailure(frame)) return yield* this.#reader.frame(frame, () => parseExactly(data));
    this.#ended = true;
    this.#reader.report(objectOf(frame));
    yield { type: 'error', error: decodeFailure(data, this.#clean), usage: this.reported ?? NO_USAGE };
  }

  *end(): Generator<StreamEvent> {
    if (this.#ended) return;
    this.#ended = true;
    if (this.isComplete) yield* this.#reader.finish();
    else yield { type: 'error', error: upstreamCutOff(), usage: this.reported ?? NO_USAGE };
  }

  get isComplete(): boolean {
    return this.#reader.isComplete;
  }

  get reported(): Usage | null {
    return this.#reader.usage;
  }

  get awaitsUsage(): boolean {
    return this.#reader.usage === null;
  }
}
