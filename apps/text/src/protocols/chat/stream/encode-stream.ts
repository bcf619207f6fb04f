import { COMMENT_FRAME, DONE_FRAME, dataFrame } from '@gateway/contracts/event-stream/sse-frames';
import { CallIds } from '../../../neutral/encoding/call-ids.ts';
import { REFUSAL_TEXT } from '../../../neutral/reply/reply.ts';
import type { StreamEvent } from '../../../neutral/reply/stream-event.ts';
import type { AnswerContext } from '../../../neutral/target.ts';
import type { StreamStep } from '../../../wire/stream/step.ts';
import { encodeAnnotation } from '../reply/annotations.ts';
import { completionId, reasoningDetail } from '../reply/encode-reply.ts';
import { errorFrame } from '../reply/errors.ts';
import { encodeFinish } from '../reply/finish-reason.ts';
import { encodeUsage } from '../reply/usage.ts';

/** Neutral events as chunks of a Chat Completions stream. */
export class ChatStreamEncoder implements StreamStep<StreamEvent, string> {
  readonly #context: AnswerContext;
  readonly #callIds: CallIds;
  readonly #head: object;
  readonly #usageMember: object;
  #callIndex = -1;
  #callIsCustom = false;
  #callText = '';
  /** A call that ended without arguments: it gets an empty object, unless the end shows that it was cut. */
  #owesArguments = false;
  #contentLength = 0;
  #textBase = 0;
  #texts: string[] = [];
  #hasReasoned = false;
  #refusalIsShown = false;
  #tier: string | undefined;

  constructor(context: AnswerContext) {
    this.#context = context;
    this.#callIds = new CallIds(() => context.mintId('call_'), context.plan.usedCallIds);
    this.#head = {
      id: completionId(context),
      object: 'chat.completion.chunk',
      created: context.nowSeconds(),
      model: context.plan.model,
    };
    this.#usageMember = context.plan.showUsage ? { usage: null } : {};
  }

  *event(event: StreamEvent): Generator<string> {
    if (event.type !== 'finish' && event.type !== 'error') yield* this.#payArguments();
    switch (event.type) {
      case 'start':
        this.#tier = event.serviceTier;
        yield this.#chunk({ role: 'assistant', content: '', refusal: null });
        break;
      case 'text-start':
        this.#textBase = this.#contentLength;
        break;
      case 'text-delta':
        this.#contentLength += event.text.length;
        yield this.#chunk({ content: event.text }, event.logprobs);
        break;
      case 'text-citation': {
        const annotation = encodeAnnotation(event.citation, this.#textBase);
        if (annotation !== null) yield this.#chunk({ annotations: [annotation] });
        break;
      }
      case 'refusal-delta':
        this.#refusalIsShown = true;
        yield this.#chunk({ refusal: event.text });
        break;
      case 'reasoning-start':
        this.#texts = [''];
        break;
      case 'reasoning-delta':
        yield this.#reason(event.text);
        break;
      case 'reasoning-break':
        this.#texts.push('');
        break;
      case 'reasoning-end': {
        const detail = reasoningDetail(event.payload, this.#texts, this.#context.tokens);
        if (detail !== null) yield this.#chunk({ reasoning_details: [detail] });
        break;
      }
      case 'tool-call-start':
        yield this.#startCall(event);
        break;
      case 'tool-call-delta':
        this.#callText += event.text;
        yield this.#arguments(event.text);
        break;
      case 'tool-call-end':
        this.#owesArguments = this.#callText === '' && !this.#callIsCustom;
        break;
      case 'ping':
        yield COMMENT_FRAME;
        break;
      case 'finish':
        yield* this.#finish(event);
        break;
      case 'error':
        yield errorFrame(event.error);
        break;
      default:
        break;
    }
  }

  end(): string[] {
    return [];
  }

  #chunk(delta: object, logprobs?: readonly unknown[], finishReason: string | null = null): string {
    const shown = logprobs?.length ? { content: logprobs, refusal: null } : null;
    const choice = { index: 0, delta, logprobs: shown, finish_reason: finishReason };
    return dataFrame({ ...this.#head, ...this.#common, choices: [choice], ...this.#usageMember });
  }

  get #common(): object {
    return { service_tier: this.#tier ?? 'default', system_fingerprint: null };
  }

  /** All reasoning is one text here; a blank line separates its parts. */
  #reason(text: string): string {
    const earlier = this.#texts.pop() ?? '';
    this.#texts.push(earlier + text);
    const gap = earlier === '' && this.#hasReasoned ? '\n\n' : '';
    this.#hasReasoned = true;
    return this.#chunk({ reasoning_content: gap + text });
  }

  #startCall({ id, name, custom = false }: StreamEvent & { type: 'tool-call-start' }): string {
    this.#callIndex += 1;
    this.#callIsCustom = custom;
    this.#callText = '';
    const identity = { index: this.#callIndex, id: this.#callIds.take(id) };
    const call = custom
      ? { ...identity, type: 'custom', custom: { name, input: '' } }
      : { ...identity, type: 'function', function: { name, arguments: '' } };
    return this.#chunk({ tool_calls: [call] });
  }

  #arguments(text: string): string {
    const members = this.#callIsCustom ? { custom: { input: text } } : { function: { arguments: text } };
    return this.#chunk({ tool_calls: [{ index: this.#callIndex, ...members }] });
  }

  *#payArguments(): Generator<string> {
    if (this.#owesArguments) yield this.#arguments('{}');
    this.#owesArguments = false;
  }

  *#finish({ finish, usage, serviceTier }: StreamEvent & { type: 'finish' }): Generator<string> {
    if (encodeFinish(finish, true) !== 'length') yield* this.#payArguments();
    if (serviceTier !== undefined) this.#tier = serviceTier;
    const isSilent = finish.reason === 'refusal' && this.#contentLength === 0 && this.#callIndex < 0;
    if (isSilent && !this.#refusalIsShown) {
      this.#refusalIsShown = true;
      yield this.#chunk({ refusal: finish.explanation ?? REFUSAL_TEXT });
    }
    yield this.#chunk({}, undefined, encodeFinish(finish, this.#refusalIsShown));
    if (this.#context.plan.showUsage) {
      yield dataFrame({ ...this.#head, ...this.#common, choices: [], usage: encodeUsage(usage) });
    }
    yield DONE_FRAME;
  }
}
