import type { GatewayError } from '@gateway/contracts/gateway-error';
import { CallIds } from '../../../neutral/encoding/call-ids.ts';
import { type Finish, REFUSAL_TEXT } from '../../../neutral/reply/reply.ts';
import type { StreamEvent } from '../../../neutral/reply/stream-event.ts';
import type { AnswerContext } from '../../../neutral/target.ts';
import type { CallItem } from '../../../neutral/tool.ts';
import { parseArguments } from '../../../wire/raw-json.ts';
import { addUsage, type Usage } from '../../../wire/usage.ts';
import { encodeOpenAiError } from '../reply/errors.ts';
import { encodeFinish } from '../reply/finish-reason.ts';
import { type ResponseState, responseObject } from '../reply/response-object.ts';
import { CallWriter } from './call-writer.ts';
import type { Emit, ItemWriter, Position } from './item-writer.ts';
import { MessageWriter } from './message-writer.ts';
import { ReasoningWriter } from './reasoning-writer.ts';
import { SearchWriter } from './search-writer.ts';

const CALL_IDS: ReadonlyMap<string, string> = new Map([
  ['apply_patch_call', 'apc_'],
  ['shell_call', 'sh_'],
  ['local_shell_call', 'lsh_'],
  ['computer_call', 'cu_'],
]);

/**
 * Builds one response out of neutral events and passes each step to `emit`, in the order that clients demand. The
 * finished object is `response`; a caller who does not stream takes only that.
 */
export class ResponseWriter {
  readonly #context: AnswerContext;
  readonly #emit: Emit;
  readonly #callIds: CallIds;
  readonly #output: object[] = [];
  #item: ItemWriter | null = null;
  #state: ResponseState;
  #refusalIsShown = false;

  constructor(context: AnswerContext, emit: Emit) {
    this.#context = context;
    this.#emit = emit;
    this.#callIds = new CallIds(() => context.mintId('call_'), context.plan.usedCallIds);
    this.#state = {
      id: context.replyId ?? context.mintId('resp_'),
      createdAt: context.nowSeconds(),
      status: 'in_progress',
      completedAt: null,
      error: null,
      incompleteDetails: null,
      output: [],
      usage: null,
      serviceTier: undefined,
    };
  }

  get response(): object {
    return responseObject(this.#state, this.#context);
  }

  write(event: StreamEvent): void {
    switch (event.type) {
      case 'start':
        this.#state = { ...this.#state, serviceTier: event.serviceTier };
        this.#emit('response.created', { response: this.response });
        this.#emit('response.in_progress', { response: this.response });
        this.#compaction();
        break;
      case 'text-start':
        this.#message().begin('output_text');
        break;
      case 'refusal-start':
        this.#refusalIsShown = true;
        this.#message().begin('refusal');
        break;
      case 'text-delta':
        this.#message().delta(event.text, event.logprobs);
        break;
      case 'refusal-delta':
        this.#message().delta(event.text);
        break;
      case 'text-citation':
        this.#message().citation(event.citation);
        break;
      case 'reasoning-start': {
        const { form } = event;
        this.#open('rs_', (position) => new ReasoningWriter(position, form, this.#context, this.#emit));
        break;
      }
      case 'reasoning-delta':
        if (this.#item instanceof ReasoningWriter) this.#item.delta(event.text);
        break;
      case 'reasoning-break':
        this.#item?.close();
        break;
      case 'reasoning-end':
        if (this.#item instanceof ReasoningWriter) this.#item.seal(event.payload);
        this.#done('completed');
        break;
      case 'tool-call-start':
        this.#startCall(event);
        break;
      case 'tool-call-delta':
        if (this.#item instanceof CallWriter) this.#item.delta(event.text);
        break;
      case 'tool-call-end':
        if (this.#item instanceof CallWriter && isCertainlyWhole(this.#item)) this.#done('completed');
        break;
      case 'web-search-start': {
        const { showSources } = this.#context.plan;
        this.#open('ws_', (position) => new SearchWriter(position, showSources, this.#emit)).begin();
        break;
      }
      case 'web-search-end':
        if (this.#item instanceof SearchWriter) this.#item.finish(event.search);
        this.#done('completed');
        break;
      case 'finish':
        this.#finish(event.finish, event.usage, event.serviceTier);
        break;
      case 'error':
        this.#fail(event.error);
        break;
      default:
        break;
    }
  }

  /** The conversation was compacted before anything was answered. */
  #compaction(): void {
    const { plan, mintId } = this.#context;
    if (plan.compaction === undefined) return;
    const item = { id: mintId('cmp_'), type: 'compaction', encrypted_content: '' };
    const output_index = this.#output.length;
    this.#emit('response.output_item.added', { output_index, item });
    this.#emit('response.compaction.compacting', { item_id: item.id, output_index });
    const done = { ...item, encrypted_content: plan.compaction.encryptedContent };
    this.#output.push(done);
    this.#emit('response.output_item.done', { output_index, item: done });
  }

  #message(): MessageWriter {
    if (this.#item instanceof MessageWriter) return this.#item;
    return this.#open('msg_', (position) => new MessageWriter(position, this.#emit));
  }

  #startCall(event: StreamEvent & { type: 'tool-call-start' }): void {
    const { name, namespace, custom = false } = event;
    const callId = this.#callIds.take(event.id);
    if (event.item !== undefined) {
      this.#wholeCall(event.item, callId);
      return;
    }
    const identity = { call_id: callId, name, ...(namespace && { namespace }) };
    this.#open(custom ? 'ctc_' : 'fc_', (position) => new CallWriter(position, identity, custom, this.#emit));
  }

  /** The item has no events of its own. */
  #wholeCall({ type, members }: CallItem, call_id: string): void {
    this.#done('completed');
    const item = { id: this.#context.mintId(CALL_IDS.get(type) ?? 'fc_'), type, call_id, ...members };
    const output_index = this.#output.length;
    this.#emit('response.output_item.added', { output_index, item: { ...item, status: 'in_progress' } });
    const done = { ...item, status: 'completed' };
    this.#output.push(done);
    this.#emit('response.output_item.done', { output_index, item: done });
  }

  /** Items follow one another: the one before ends here at the latest. */
  #open<Writer extends ItemWriter>(prefix: string, create: (position: Position) => Writer): Writer {
    this.#done('completed');
    const position = { item_id: this.#context.mintId(prefix), output_index: this.#output.length };
    const writer = create(position);
    const item = writer.snapshot('in_progress');
    this.#emit('response.output_item.added', { output_index: position.output_index, item });
    this.#item = writer;
    return writer;
  }

  #done(status: 'completed' | 'incomplete'): void {
    const writer = this.#item;
    if (writer === null) return;
    this.#item = null;
    // A call without arguments has none: clients want an empty object, unless it was cut before them.
    if (writer instanceof CallWriter && !writer.custom && writer.text === '' && status === 'completed') {
      writer.delta('{}');
    }
    writer.close();
    const item = writer.snapshot(status);
    const index = this.#output.push(item) - 1;
    this.#emit('response.output_item.done', { output_index: index, item });
  }

  #finish(finish: Finish, usage: Usage, serviceTier: string | undefined): void {
    const { compaction } = this.#context.plan;
    const isSilentRefusal =
      finish.reason === 'refusal' &&
      this.#output.length === (compaction === undefined ? 0 : 1) &&
      this.#item === null &&
      !this.#refusalIsShown;
    if (isSilentRefusal) {
      this.write({ type: 'refusal-start' });
      this.write({ type: 'refusal-delta', text: finish.explanation ?? REFUSAL_TEXT });
    }
    const { status, incomplete_details: incompleteDetails } = encodeFinish(finish, this.#refusalIsShown);
    this.#done(status);
    this.#state = {
      ...this.#state,
      status,
      incompleteDetails,
      completedAt: status === 'completed' ? this.#context.nowSeconds() : null,
      output: this.#output,
      usage: compaction === undefined ? usage : addUsage(compaction.usage, usage),
      serviceTier: serviceTier ?? this.#state.serviceTier,
    };
    this.#emit(`response.${status}`, { response: this.response });
  }

  #fail(error: GatewayError): void {
    const shown = encodeOpenAiError(error);
    const { code, message, param } = shown;
    this.#emit('error', { code, message, param, error: shown });
    const open = this.#item === null ? [] : [this.#item.snapshot('incomplete')];
    this.#state = {
      ...this.#state,
      status: 'failed',
      error: shown,
      output: [...this.#output, ...open],
    };
    this.#emit('response.failed', { response: this.response });
  }
}

/** Arguments that read as an object cannot have been cut; anything else waits for what comes next. */
const isCertainlyWhole = (call: CallWriter): boolean =>
  !call.custom && call.text !== '' && parseArguments(call.text) !== null;
