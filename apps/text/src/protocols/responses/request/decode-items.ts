import { ResponsesInputPart, ResponsesItem } from '@gateway/contracts/openai/responses-wire';
import type { z } from 'zod';
import { type ContentPart, decodeSource, resultContent } from '../../../neutral/content.ts';
import type { Turn } from '../../../neutral/conversation.ts';
import { openReasoning } from '../../../neutral/encoding/sealed-reasoning.ts';
import type { Part, ReasoningPart, TextPart, ToolCallPart } from '../../../neutral/parts.ts';
import type { RequestReader } from '../../../neutral/request-reader.ts';
import type { OtherNames } from '../../../neutral/scalar-paths.ts';
import type { Tool } from '../../../neutral/tool.ts';
import type { Path } from '../../../wire/path.ts';
import type { OpaqueTokens } from '../../../wire/tokens/opaque-token.ts';
import { decodeKnownCall, decodeKnownOutput, isKnownCall, isKnownOutput } from './decode-known-calls.ts';
import { decodeTool } from './decode-tools.ts';

type Item = { readonly type?: string | undefined; readonly [member: string]: unknown };

/**
 * Items whose loss would be that of the conversation itself. Other items of unknown types are what a provider did or
 * knows by itself: elsewhere only the text that followed them counts.
 */
const NEEDED: ReadonlySet<string> = new Set([
  'item_reference',
  'compaction',
  'compaction_summary',
  'compaction_trigger',
]);

const SHOWN_PARTS: ReadonlySet<string> = new Set(
  ResponsesInputPart.options.map(({ shape }) => shape.type.value),
);

type Settings = Pick<z.infer<typeof ResponsesItem.configuration_update>, 'reasoning' | 'text'>;

type Call = Omit<z.infer<typeof ResponsesItem.function_call>, 'type' | 'arguments'>;

const itemType = (item: Item): string => item.type ?? ('role' in item ? 'message' : 'item_reference');

const isText = (part: { type: string }): part is TextPart => part.type === 'text';

/** Walks the items in order. Consecutive items of the model become one assistant turn. */
export class ItemReader {
  readonly turns: Turn[] = [];
  /** Instructions before anything else. */
  readonly system: TextPart[] = [];
  readonly tools: Tool[] = [];
  /** What replaces the request's own settings: the last one of each kind. */
  settings: Settings = {};
  /** Where these settings are. */
  settingNames: OtherNames = {};
  readonly #tokens: OpaqueTokens;
  readonly #reader: RequestReader;
  /** The calls so far, by their ids. */
  readonly #called = new Map<string, Pick<Call, 'name' | 'namespace'>>();
  /** The ids of such calls, by those of their items. */
  readonly #callOfItem = new Map<string, string>();
  /** The parts of the assistant turn that is under way. */
  #assistantParts: Part[] | null = null;

  constructor(tokens: OpaqueTokens, reader: RequestReader) {
    this.#tokens = tokens;
    this.#reader = reader;
  }

  read(item: Item, at: Path): void {
    const type = itemType(item);
    switch (type) {
      case 'message':
        this.#message(item, at);
        break;
      case 'function_call': {
        const call = this.#reader.read(ResponsesItem.function_call, item, at);
        this.#call(call, { arguments: call.arguments }, at);
        break;
      }
      case 'custom_tool_call': {
        const call = this.#reader.read(ResponsesItem.custom_tool_call, item, at);
        this.#call(call, { arguments: call.input, custom: true }, at);
        break;
      }
      case 'function_call_output':
      case 'custom_tool_call_output':
        this.#output(type, item, at);
        break;
      case 'reasoning':
        this.#add('assistant', at, [this.#reasoning(item, at)]);
        break;
      case 'configuration_update': {
        const { reasoning, text } = this.#reader.read(ResponsesItem.configuration_update, item, at);
        this.settings = { ...this.settings, ...(reasoning && { reasoning }), ...(text && { text }) };
        const format = [...at, 'text', 'format'];
        this.settingNames = {
          ...this.settingNames,
          ...(reasoning && { reasoning: [...at, 'reasoning', 'effort'] }),
          ...(text && {
            outputFormat: format,
            strictFormat: [...format, 'strict'],
            formatDescription: [...format, 'description'],
          }),
        };
        break;
      }
      case 'additional_tools': {
        const { tools } = this.#reader.read(ResponsesItem.additional_tools, item, at);
        for (const [index, tool] of tools.entries())
          this.tools.push(...decodeTool(tool, [...at, 'tools', index], this.#reader));
        break;
      }
      default:
        if (NEEDED.has(type))
          this.#reader.refuse(at, `Items of type '${type}' cannot be shown to the model that would answer.`);
        else if (!this.#known(type, item, at))
          this.#reader.drop(at, 'what only its own provider knows cannot be shown');
    }
  }

  /** Adds to the assistant turn that is under way; users' messages stay apart. */
  #add(role: Turn['role'], at: Path, parts: readonly Part[]): void {
    if (role === 'assistant' && this.#assistantParts !== null) {
      for (const part of parts) this.#assistantParts.push(part);
    } else if (parts.length > 0) {
      const own = [...parts];
      this.turns.push({ role, parts: own, at });
      this.#assistantParts = role === 'assistant' ? own : null;
    }
  }

  #message(item: Item, at: Path): void {
    const { role, content } = this.#reader.read(ResponsesItem.message, { ...item, type: 'message' }, at);
    const path = [...at, 'content'];
    const parts: ContentPart[] =
      typeof content === 'string'
        ? decodeContent(content, path, this.#reader)
        : content.flatMap((part, index) => this.#part(role, part, [...path, index]));
    if (role === 'user' || role === 'assistant') {
      this.#add(role, at, parts);
      return;
    }
    for (const part of parts) {
      if (!isText(part)) this.#reader.refuse(part.at ?? at, 'Instructions can only be text for this model.');
    }
    const texts = parts.filter(isText);
    if (this.turns.length > 0) this.#add('system', at, texts);
    else for (const text of texts) this.system.push(text);
  }

  #part(role: string, part: { readonly type: string }, at: Path): ContentPart[] {
    if (role !== 'assistant' || SHOWN_PARTS.has(part.type))
      return [decodePart(this.#reader.read(ResponsesInputPart, part, at), at, this.#reader)];
    this.#reader.drop(at, 'what only its own provider knows cannot be shown');
    return [];
  }

  #call(
    call: Pick<Call, 'call_id' | 'name' | 'namespace' | 'caller'>,
    content: Pick<ToolCallPart, 'arguments' | 'custom'>,
    at: Path,
  ): void {
    const { call_id: id, name, namespace } = call;
    this.#called.set(id, call);
    this.#checkCaller(call, at);
    this.#add('assistant', at, [
      { type: 'tool-call', id, name, ...content, ...(namespace && { namespace }), at },
    ]);
  }

  /** A call of a tool with items of its own, or its output. False where the caller's program has no part in it. */
  #known(type: string, item: Item, at: Path): boolean {
    if (isKnownCall(type)) {
      const call = decodeKnownCall(type, item, at, this.#reader);
      if (call === null) return false;
      if (call.id) this.#callOfItem.set(call.id, call.call_id);
      this.#call(call, { arguments: call.arguments }, at);
      return true;
    }
    if (!isKnownOutput(type)) return false;
    // An output of a local shell names its call by `id` alone.
    const named = [item.call_id, item.id].find((id) => typeof id === 'string') ?? '';
    const callId = this.#called.has(named) ? named : this.#callOfItem.get(named);
    if (callId === undefined) return false;
    this.#add('user', at, [decodeKnownOutput(type, item, callId, at, this.#reader)]);
    return true;
  }

  #checkCaller({ caller }: { caller?: { type: string } | null | undefined }, at: Path): void {
    if (caller && caller.type !== 'direct')
      this.#reader.drop([...at, 'caller'], 'known to the responses protocol only');
  }

  #output(type: 'function_call_output' | 'custom_tool_call_output', item: Item, at: Path): void {
    const result = this.#reader.read(ResponsesItem[type], item, at);
    const call = this.#called.get(result.call_id);
    for (const member of ['name', 'namespace'] as const) {
      if (result[member] && result[member] !== call?.[member])
        this.#reader.drop([...at, member], 'not that of the tool called');
    }
    this.#checkCaller(result, at);
    const parts = decodeContent(result.output, [...at, 'output'], this.#reader);
    const content = resultContent(parts, this.#reader);
    const custom = type === 'custom_tool_call_output' ? { custom: true } : {};
    this.#add('user', at, [{ type: 'tool-result', callId: result.call_id, content, ...custom, at }]);
  }

  #reasoning(item: Item, at: Path): ReasoningPart {
    const {
      summary,
      content,
      encrypted_content: seal,
    } = this.#reader.read(ResponsesItem.reasoning, item, at);
    const trace = (content ?? []).map(({ text }) => text);
    if (trace.length > 0 && summary?.length)
      this.#reader.drop([...at, 'summary'], 'the whole reasoning is beside it');
    const native = { vendor: 'openai', kind: 'encrypted' } as const;
    if (trace.length === 0) {
      const texts = (summary ?? []).map(({ text }) => text);
      return openReasoning({ texts, form: 'summary', at }, seal, native, this.#tokens);
    }
    const shown = { texts: trace, form: 'trace', at } as const;
    if (seal) return openReasoning(shown, seal, native, this.#tokens);
    return { type: 'reasoning', ...shown, payload: { vendor: 'open', kind: 'trace', data: '' } };
  }
}

/** Content of a message or of a tool's output: text, or parts. */
export function decodeContent(
  content: string | readonly ResponsesInputPart[],
  at: Path,
  reader: RequestReader,
): ContentPart[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content, at }];
  return content.map((part, index) => decodePart(part, [...at, index], reader));
}

function decodePart(part: ResponsesInputPart, at: Path, reader: RequestReader): ContentPart {
  switch (part.type) {
    case 'input_text':
    case 'output_text':
      return { type: 'text', text: part.text, at };
    case 'refusal':
      return { type: 'refusal', text: part.refusal, at };
    case 'input_image': {
      const { image_url, file_id, detail } = part;
      const source = decodeSource({ image_url, file_id }, at, reader);
      return { type: 'image', source, at, ...(detail && { detail }) };
    }
    case 'input_file': {
      const { file_url, file_data, file_id, filename } = part;
      const source = decodeSource({ file_url, file_data, file_id }, at, reader);
      return { type: 'document', source, at, ...(filename && { title: filename }) };
    }
    case 'input_audio':
      return { type: 'audio', data: part.input_audio.data, format: part.input_audio.format, at };
  }
}
