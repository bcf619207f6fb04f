import { END_MARK } from '@gateway/contracts/event-stream/stream-events';
import { ResponsesEvent, type ResponsesReply } from '@gateway/contracts/openai/responses-wire';
import { reportsFailure } from '@gateway/upstream/first-output/reported-error';
import { PartSequence } from '../../../neutral/reply/part-sequence.ts';
import type { StreamEvent } from '../../../neutral/reply/stream-event.ts';
import type { Target } from '../../../neutral/target.ts';
import { objectOf, textAt } from '../../../wire/json-object.ts';
import { decodeFailure, decodeOpenAiError } from '../../../wire/openai-errors.ts';
import { parseBody } from '../../../wire/raw-json.ts';
import { readUpstream, upstreamCutOff } from '../../../wire/read-upstream.ts';
import type { StreamStep } from '../../../wire/stream/step.ts';
import { ToolCallCounter } from '../../../wire/tool-calls.ts';
import { laterUsage, NO_USAGE, type Usage } from '../../../wire/usage.ts';
import { usageOfCalls } from '../../../wire/usage-places.ts';
import { decodeAnnotation } from '../reply/annotations.ts';
import { argumentsOf, outputOf } from '../reply/decode-reply.ts';
import { decodeFinish } from '../reply/finish-reason.ts';
import { readUsage, readUsageAtTier } from '../reply/usage.ts';
import { ItemPositions } from './item-positions.ts';
import { ItemStream } from './item-stream.ts';

/** A server has already read a call's arguments: their long numbers must survive. */
const OBJECT_ARGUMENTS = /"arguments"\s*:\s*\{/;

/** A Responses stream from an upstream, as neutral events. Items that overlap are put one after another. */
export class ResponsesStreamDecoder implements StreamStep<string, StreamEvent> {
  readonly #clean: (text: string) => string;
  readonly #parts = new PartSequence();
  readonly #items: ItemStream;
  readonly #positions = new ItemPositions();
  readonly #calls = new ToolCallCounter();
  /** By the responses that its events have shown. */
  #usage: Usage | null = null;
  #ended = false;
  model: string | null = null;

  constructor(target: Target, clean: (text: string) => string) {
    this.#clean = clean;
    this.#items = new ItemStream(target, this.#parts);
  }

  *event(data: string): Generator<StreamEvent> {
    if (this.#ended || data === END_MARK) return;
    const parsed: unknown = OBJECT_ARGUMENTS.test(data) ? parseBody(data) : JSON.parse(data);
    const event = readUpstream(ResponsesEvent, parsed);
    if (event.response?.usage) this.#usage = laterUsage(this.#usage, readUsageAtTier(event.response));
    if (event.response) this.model ??= textAt(objectOf(objectOf(parsed).response), 'model');
    switch (event.type) {
      case 'response.created':
        yield { type: 'start', usage: NO_USAGE, serviceTier: event.response?.service_tier };
        break;
      case 'keepalive':
        yield { type: 'ping' };
        break;
      case 'response.completed':
      case 'response.incomplete':
        if (event.response?.status === 'failed' || event.response?.error)
          yield* this.#fail(event.response.error);
        else yield* this.#finish(event.type, event.response ?? {});
        break;
      case 'response.failed':
      case 'response.cancelled':
        yield* this.#fail(event.response?.error);
        break;
      case 'error':
        yield* this.#fail(event.error ?? event);
        break;
      case undefined:
      case null:
        if (!reportsFailure(parsed)) break;
        this.#ended = true;
        yield { type: 'error', error: decodeFailure(data, this.#clean), usage: this.reported ?? NO_USAGE };
        break;
      default:
        yield* this.#part(event);
    }
  }

  *end(): Generator<StreamEvent> {
    if (this.#ended) return;
    this.#ended = true;
    yield { type: 'error', error: upstreamCutOff(), usage: this.reported ?? NO_USAGE };
  }

  get reported(): Usage | null {
    return laterUsage(this.#usage, usageOfCalls(this.#calls.counts));
  }

  *#fail(error: { code?: unknown; message?: unknown } | null | undefined): Generator<StreamEvent> {
    this.#ended = true;
    const code = typeof error?.code === 'string' ? error.code : null;
    const message = typeof error?.message === 'string' ? error.message : null;
    const failure = decodeOpenAiError({ code, message }, this.#clean);
    yield { type: 'error', error: failure, usage: this.reported ?? NO_USAGE };
  }

  *#finish(type: string, response: ResponsesReply): Generator<StreamEvent> {
    yield* this.#items.finish(outputOf(response), () => this.#positions.take());
    this.#ended = true;
    // Some servers repeat an earlier status beside the event that ends the response.
    const isCut = type === 'response.incomplete' || response.status?.toLowerCase() === 'incomplete';
    const status = isCut ? 'incomplete' : 'completed';
    yield {
      type: 'finish',
      finish: decodeFinish({ ...response, status }, this.#items.seen),
      usage: readUsage(response, this.#calls.counts) ?? NO_USAGE,
      serviceTier: response.service_tier ?? undefined,
    };
  }

  #part(event: ResponsesEvent): Iterable<StreamEvent> {
    const items = this.#items;
    const item = this.#positions.of(event);
    const content = event.content_index ?? items.endedParts(item);
    const delta = event.delta ?? '';
    switch (event.type) {
      case 'response.output_item.added':
        return event.item ? items.added(item, event.item) : [];
      case 'response.output_item.done':
        this.#calls.add(event.item);
        return event.item ? items.done(item, event.item) : [];
      case 'response.content_part.done':
        return items.partDone(item, content, event.part);
      case 'response.output_text.delta':
        return items.text(item, content, delta, event.logprobs);
      case 'response.output_text.done':
        return items.wholeText(item, content, event.text ?? '', event.logprobs);
      case 'response.output_text.annotation.added': {
        const citation = decodeAnnotation(event.annotation);
        return citation === null ? [] : items.citation(item, content, citation);
      }
      case 'response.refusal.delta':
        return items.refusal(item, content, delta);
      case 'response.refusal.done':
        return items.wholeRefusal(item, content, event.refusal ?? '');
      case 'response.reasoning_summary_part.added':
        return items.summaryPart(item, event.summary_index);
      case 'response.reasoning_summary_text.delta':
        return items.reasoning(item, { form: 'summary', part: event.summary_index }, delta);
      case 'response.reasoning_summary_text.done':
        return items.wholeReasoning(item, { form: 'summary', part: event.summary_index }, event.text ?? '');
      case 'response.reasoning_summary_part.done': {
        const text = textAt(event.part ?? {}, 'text') ?? '';
        return items.wholeReasoning(item, { form: 'summary', part: event.summary_index }, text);
      }
      case 'response.reasoning_text.delta':
      case 'response.reasoning.delta':
        return items.reasoning(item, { form: 'trace', part: event.content_index }, delta);
      case 'response.reasoning_text.done':
      case 'response.reasoning.done':
        return items.wholeReasoning(item, { form: 'trace', part: event.content_index }, event.text ?? '');
      case 'response.function_call_arguments.delta':
        return items.call(item, delta, false);
      case 'response.custom_tool_call_input.delta':
        return items.call(item, delta, true);
      case 'response.function_call_arguments.done':
        return items.wholeCall(item, argumentsOf({ ...event, type: 'function_call' }), false);
      case 'response.custom_tool_call_input.done':
        return items.wholeCall(item, argumentsOf({ ...event, type: 'custom_tool_call' }), true);
      default:
        return [];
    }
  }
}
