import { ResponsesItem } from '@gateway/contracts/openai/responses-wire';
import type { Turn } from '../conversation/conversation.ts';
import type {
  AudioPart,
  Part,
  ReasoningPart,
  RefusalPart,
  ResultContent,
  TextPart,
} from '../conversation/parts.ts';
import type { Path } from '../conversation/path.ts';
import { openReasoning } from '../conversation/sealed-reasoning.ts';
import type { Tool } from '../conversation/tool.ts';
import type { Unsaid } from '../conversation/unsaid.ts';
import type { OpaqueTokens } from '../opaque-token.ts';
import { readRequest } from '../wire.ts';
import { type ContentPart, decodeContent } from './decode-content.ts';
import { decodeTool } from './decode-tools.ts';

type Item = { readonly type?: string | undefined; readonly [member: string]: unknown };

/** Runs of tools that the provider carried out itself: elsewhere only the text that followed them counts. */
const FOREIGN_RUNS: ReadonlySet<string> = new Set([
  'web_search_call',
  'file_search_call',
  'code_interpreter_call',
  'mcp_list_tools',
  'mcp_call',
  'mcp_approval_request',
  'mcp_approval_response',
  'tool_search_call',
  'tool_search_output',
  'program',
  'program_output',
]);

const itemType = (item: Item): string => item.type ?? ('role' in item ? 'message' : 'item_reference');

const isText = (part: { type: string }): part is TextPart => part.type === 'text';

/** Walks the items in order. What the model said in one go becomes one assistant turn. */
export class ItemReader {
  readonly turns: Turn[] = [];
  /** Instructions before anything else was said. */
  readonly system: TextPart[] = [];
  readonly tools: Tool[] = [];
  readonly #tokens: OpaqueTokens;
  readonly #unsaid: Unsaid;

  constructor(tokens: OpaqueTokens, unsaid: Unsaid) {
    this.#tokens = tokens;
    this.#unsaid = unsaid;
  }

  read(item: Item, at: Path): void {
    const type = itemType(item);
    switch (type) {
      case 'message':
        this.#message(item, at);
        break;
      case 'function_call': {
        const call = readRequest(ResponsesItem.function_call, item, at);
        const { call_id: id, name, namespace } = call;
        const home = namespace ? { namespace } : {};
        this.#say('assistant', at, { type: 'tool-call', id, name, arguments: call.arguments, ...home, at });
        break;
      }
      case 'custom_tool_call': {
        const { call_id: id, name, input, namespace } = readRequest(ResponsesItem.custom_tool_call, item, at);
        const home = namespace ? { namespace } : {};
        this.#say('assistant', at, {
          type: 'tool-call',
          id,
          name,
          arguments: input,
          custom: true,
          ...home,
          at,
        });
        break;
      }
      case 'function_call_output':
      case 'custom_tool_call_output':
        this.#output(type, item, at);
        break;
      case 'reasoning':
        this.#say('assistant', at, this.#reasoning(item, at));
        break;
      case 'additional_tools': {
        const { tools } = readRequest(ResponsesItem.additional_tools, item, at);
        this.tools.push(
          ...tools.flatMap((tool, index) => decodeTool(tool, [...at, 'tools', index], this.#unsaid)),
        );
        break;
      }
      default:
        if (FOREIGN_RUNS.has(type)) this.#unsaid.drop(at, "another provider's tool runs cannot be shown");
        else
          this.#unsaid.refuse(at, `Items of type '${type}' cannot be shown to the model that would answer.`);
    }
  }

  /** Adds to the assistant turn that is under way; users' messages stay apart. */
  #say(role: Turn['role'], at: Path, ...parts: Part[]): void {
    const last = this.turns.at(-1);
    if (role === 'assistant' && last?.role === 'assistant') {
      this.turns[this.turns.length - 1] = { ...last, parts: [...last.parts, ...parts] };
    } else if (parts.length > 0) this.turns.push({ role, parts, at });
  }

  #message(item: Item, at: Path): void {
    const { role, content } = readRequest(ResponsesItem.message, { ...item, type: 'message' }, at);
    this.#unsaid.dropPresent(item, ['phase'], at, 'known to the responses protocol only');
    const parts: ContentPart[] = decodeContent(content, [...at, 'content'], this.#unsaid);
    if (role === 'user' || role === 'assistant') {
      this.#say(role, at, ...parts);
      return;
    }
    for (const part of parts) {
      if (!isText(part)) this.#unsaid.refuse(part.at ?? at, 'Instructions can only be text for this model.');
    }
    const texts = parts.filter(isText);
    if (this.turns.length === 0) this.system.push(...texts);
    else this.#say('system', at, ...texts);
  }

  #output(type: 'function_call_output' | 'custom_tool_call_output', item: Item, at: Path): void {
    const { call_id: callId, output } = readRequest(ResponsesItem[type], item, at);
    const parts = decodeContent(output, [...at, 'output'], this.#unsaid);
    const isContent = (part: ContentPart): part is Exclude<ContentPart, AudioPart | RefusalPart> =>
      part.type !== 'audio' && part.type !== 'refusal';
    for (const part of parts) {
      if (!isContent(part)) this.#unsaid.refuse(part.at ?? at, 'A tool cannot return this kind of content.');
    }
    const content: ResultContent[] = parts.filter(isContent);
    const custom = type === 'custom_tool_call_output' ? { custom: true } : {};
    this.#say('user', at, { type: 'tool-result', callId, content, ...custom, at });
  }

  #reasoning(item: Item, at: Path): ReasoningPart {
    const { summary, content, encrypted_content: seal } = readRequest(ResponsesItem.reasoning, item, at);
    const trace = (content ?? []).map(({ text }) => text);
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
