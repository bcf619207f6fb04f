import { namedFrame } from '@gateway/contracts/event-stream/sse-frames';
import type { CallIds } from '../../../neutral/encoding/call-ids.ts';
import type { Citation, OpaquePayload } from '../../../neutral/parts.ts';
import type { StreamEvent } from '../../../neutral/reply/stream-event.ts';
import type { AnswerContext } from '../../../neutral/target.ts';
import type { StreamStep } from '../../../wire/stream/step.ts';
import { NO_USAGE } from '../../../wire/usage.ts';
import { encodeCitation } from '../reply/citations.ts';
import {
  answeredUsage,
  callBlock,
  callIds,
  encodeSearch,
  hiddenBlock,
  messageId,
  thinkingSignature,
} from '../reply/encode-reply.ts';
import { errorFrame } from '../reply/errors.ts';
import { encodeFinish } from '../reply/finish-reason.ts';
import { encodeIterations, encodeMessageUsage, encodeUsage } from '../reply/usage.ts';

/** The part that is being written. Its block opens with the first thing it has to show. */
interface OpenPart {
  isOpen: boolean;
  /** Text of a text, arguments of a call. */
  text: string;
  texts: string[];
  readonly form: 'summary' | 'trace';
  readonly custom: boolean;
}

const newPart = (form: OpenPart['form'] = 'summary', custom = false): OpenPart => ({
  isOpen: false,
  text: '',
  texts: [''],
  form,
  custom,
});

/** Neutral events as frames of a Messages stream. Arguments of calls are expected to be objects: see `WholeArgumentsStep`. */
export class MessagesStreamEncoder implements StreamStep<StreamEvent, string> {
  readonly #context: AnswerContext;
  readonly #callIds: CallIds;
  #index = -1;
  #part = newPart();

  constructor(context: AnswerContext) {
    this.#context = context;
    this.#callIds = callIds(context);
  }

  *event(event: StreamEvent): Generator<string> {
    switch (event.type) {
      case 'start':
        yield this.#messageStart(event);
        yield* this.#compaction();
        break;
      case 'text-start':
      case 'refusal-start':
        this.#part = newPart();
        break;
      case 'text-delta':
      case 'refusal-delta':
        if (!this.#part.isOpen) yield this.#open({ type: 'text', text: '', citations: null });
        this.#part.text += event.text;
        yield this.#delta({ type: 'text_delta', text: event.text });
        break;
      case 'text-citation':
        yield* this.#citation(event.citation);
        break;
      case 'text-end':
      case 'refusal-end':
        yield* this.#close();
        break;
      case 'reasoning-start':
        this.#part = newPart(event.form);
        break;
      case 'reasoning-delta':
        yield* this.#thinking(event.text);
        break;
      case 'reasoning-break':
        this.#part.texts.push('');
        if (this.#part.isOpen) yield this.#delta({ type: 'thinking_delta', thinking: '\n\n' });
        break;
      case 'reasoning-end':
        yield* this.#endThinking(event.payload);
        break;
      case 'tool-call-start': {
        this.#part = newPart('summary', event.custom ?? false);
        const id = this.#callIds.take(event.id);
        yield this.#open(callBlock(id, event, {}));
        break;
      }
      case 'tool-call-delta':
        this.#part.text += event.text;
        // Free text becomes the one string of an object; it can only be written whole.
        if (!this.#part.custom) yield this.#json(event.text);
        break;
      case 'tool-call-end':
        yield* this.#endCall();
        break;
      case 'web-search-end':
        yield* this.#search(encodeSearch(event.search, this.#context));
        break;
      case 'ping':
        yield namedFrame({ type: 'ping' });
        break;
      case 'finish':
        yield* this.#finish(event);
        break;
      case 'error':
        yield errorFrame(event.error, this.#context.requestId);
        break;
    }
  }

  *end(): Generator<string> {}

  #messageStart({ usage, serviceTier }: StreamEvent & { type: 'start' }): string {
    const { plan, estimatedInputTokens: estimate = 0 } = this.#context;
    const known = usage.reported ? usage : { ...NO_USAGE, inputTokens: estimate };
    const message = {
      id: messageId(this.#context),
      type: 'message',
      role: 'assistant',
      model: plan.model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      stop_details: null,
      container: null,
      diagnostics: null,
      usage: encodeMessageUsage(known, serviceTier),
    };
    return frame('message_start', { message });
  }

  /** The block that replaces the conversation so far: its one delta has all of it. */
  *#compaction(): Generator<string> {
    const { compaction } = this.#context.plan;
    if (compaction === undefined) return;
    const { summary: content, encryptedContent: encrypted_content, toolChanges: tool_changes } = compaction;
    yield this.#open({ type: 'compaction', content: null, encrypted_content: null, tool_changes });
    yield this.#delta({ type: 'compaction_delta', content, encrypted_content });
    yield* this.#close();
  }

  #open(block: object): string {
    this.#index += 1;
    this.#part.isOpen = true;
    return frame('content_block_start', { index: this.#index, content_block: block });
  }

  #delta(delta: object): string {
    return frame('content_block_delta', { index: this.#index, delta });
  }

  #json(fragment: string): string {
    return this.#delta({ type: 'input_json_delta', partial_json: fragment });
  }

  *#close(): Generator<string> {
    if (this.#part.isOpen) yield frame('content_block_stop', { index: this.#index });
    this.#part = newPart();
  }

  *#citation(citation: Citation): Generator<string> {
    const encoded = encodeCitation(citation, this.#part.text, this.#context.tokens);
    if (encoded !== null && this.#part.isOpen)
      yield this.#delta({ type: 'citations_delta', citation: encoded });
  }

  *#thinking(text: string): Generator<string> {
    if (!this.#part.isOpen) yield this.#open({ type: 'thinking', thinking: '', signature: '' });
    this.#part.texts.push((this.#part.texts.pop() ?? '') + text);
    yield this.#delta({ type: 'thinking_delta', thinking: text });
  }

  *#endThinking(payload: OpaquePayload | undefined): Generator<string> {
    const { tokens } = this.#context;
    if (this.#part.isOpen) {
      const signature = thinkingSignature(payload, this.#part.texts, this.#part.form, tokens);
      yield this.#delta({ type: 'signature_delta', signature });
    } else {
      const block = hiddenBlock(payload, tokens);
      if (block !== null) yield* this.#hidden(block);
    }
    yield* this.#close();
  }

  *#hidden(block: object): Generator<string> {
    const signature = 'signature' in block ? block.signature : undefined;
    if (signature === undefined) yield this.#open(block);
    else {
      yield this.#open({ type: 'thinking', thinking: '', signature: '' });
      yield this.#delta({ type: 'signature_delta', signature });
    }
  }

  *#endCall(): Generator<string> {
    const { custom, text } = this.#part;
    if (custom) yield this.#json(JSON.stringify({ input: text }));
    yield* this.#close();
  }

  *#search(blocks: readonly object[]): Generator<string> {
    for (const block of blocks) {
      const input = 'input' in block ? block.input : undefined;
      yield this.#open(input === undefined ? block : { ...block, input: {} });
      if (input !== undefined) yield this.#json(JSON.stringify(input));
      yield* this.#close();
    }
  }

  *#finish({ finish, usage }: StreamEvent & { type: 'finish' }): Generator<string> {
    yield* this.#close();
    const iterations = encodeIterations(this.#context.plan, answeredUsage({ finish, usage }));
    const counted = { ...encodeUsage(usage), ...iterations };
    yield frame('message_delta', { delta: encodeFinish(finish), usage: counted });
    yield namedFrame({ type: 'message_stop' });
  }
}

const frame = (type: string, members: object): string => namedFrame({ type, ...members });
