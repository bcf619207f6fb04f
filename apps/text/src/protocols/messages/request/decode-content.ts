import { MessagesBlock } from '@gateway/contracts/anthropic/messages-wire';
import type { z } from 'zod';
import type { Turn } from '../../../neutral/conversation.ts';
import { mediaTypeOf } from '../../../neutral/data-url.ts';
import { openReasoning } from '../../../neutral/encoding/sealed-reasoning.ts';
import type {
  DocumentPart,
  ImagePart,
  MediaSource,
  Part,
  ResultContent,
  TextPart,
} from '../../../neutral/parts.ts';
import type { RequestReader } from '../../../neutral/request-reader.ts';
import type { Path } from '../../../wire/path.ts';
import type { OpaqueTokens } from '../../../wire/tokens/opaque-token.ts';
import { browserStateText } from '../../caller-tools/browser-state.ts';

export interface ContentReaders {
  /** Whose message it is. */
  readonly role: Turn['role'];
  readonly tokens: OpaqueTokens;
  readonly reader: RequestReader;
}

type Block = { readonly [member: string]: unknown; readonly type: string };

/** Blocks of tools that Anthropic runs itself. Elsewhere only the text that followed them counts. */
const FOREIGN =
  /^(server_tool_use|mcp_tool_use|mcp_tool_result|fallback|.*_tool_result|tool_addition|tool_removal)$/;

/** What can be shown to every model. */
const SHOWN: ReadonlySet<string> = new Set(['text', 'image', 'document', 'search_result']);

const ONLY_ANTHROPIC = 'known to the messages protocol only';

/** Content of one message: text, or blocks. */
export function decodeContent(content: string | readonly Block[], at: Path, readers: ContentReaders): Part[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content, at }];
  return content.flatMap((block, index) => decodeBlock(block, [...at, index], readers) ?? []);
}

function decodeBlock(block: Block, at: Path, readers: ContentReaders): Part | null {
  const { tokens, reader, role } = readers;
  switch (block.type) {
    case 'thinking': {
      const { thinking, signature } = reader.read(MessagesBlock.thinking, block, at);
      const texts = thinking === '' ? [] : [thinking];
      const native = { vendor: 'anthropic', kind: 'signature' } as const;
      return openReasoning({ texts, form: 'summary', at }, signature, native, tokens);
    }
    case 'redacted_thinking': {
      const { data } = reader.read(MessagesBlock.redacted_thinking, block, at);
      const native = { vendor: 'anthropic', kind: 'redacted' } as const;
      return openReasoning({ texts: [], form: 'summary', at }, data, native, tokens);
    }
    case 'tool_use': {
      const {
        id,
        name,
        input,
        caller,
        toolset_name: namespace,
      } = reader.read(MessagesBlock.tool_use, block, at);
      if (caller && caller.type !== 'direct') reader.drop([...at, 'caller'], ONLY_ANTHROPIC);
      return {
        type: 'tool-call',
        id,
        name,
        arguments: JSON.stringify(input ?? {}),
        at,
        ...(namespace && { namespace }),
      };
    }
    case 'tool_result':
      return decodeResult(block, at, readers);
    default:
      if (FOREIGN.test(block.type) || (role === 'assistant' && !SHOWN.has(block.type))) {
        reader.drop(at, 'what only its own provider knows cannot be shown');
        return { type: 'foreign', name: block.type, at };
      }
      return decodeShown(block, at, reader);
  }
}

function decodeResult(block: Block, at: Path, { reader }: ContentReaders): Part {
  const result = reader.read(MessagesBlock.tool_result, block, at);
  const content: ResultContent[] = [];
  if (typeof result.content === 'string') {
    content.push({ type: 'text', text: result.content, at: [...at, 'content'] });
  }
  for (const [index, inner] of (Array.isArray(result.content) ? result.content : []).entries()) {
    const innerAt = [...at, 'content', index];
    if (inner.type === 'tool_reference') reader.drop(innerAt, ONLY_ANTHROPIC);
    else if (inner.type === 'browser_state') {
      const state = reader.read(MessagesBlock.browser_state, inner, innerAt);
      content.push({ type: 'text', text: browserStateText(state), at: innerAt });
    } else {
      const shown = decodeShown(inner, innerAt, reader);
      if (shown !== null) content.push(shown);
    }
  }
  return {
    type: 'tool-result',
    callId: result.tool_use_id,
    content,
    at,
    ...(result.is_error && { isError: true }),
  };
}

/** Decodes content that a user turn and a tool result may have alike. */
function decodeShown(block: Block, at: Path, reader: RequestReader): ResultContent | null {
  switch (block.type) {
    case 'text': {
      const { text } = reader.read(MessagesBlock.text, block, at);
      return { type: 'text', text, at };
    }
    case 'image':
      return decodeImage(reader.read(MessagesBlock.image, block, at), at);
    case 'document':
      return decodeDocument(block, at, reader);
    case 'search_result': {
      const { source, title, content } = reader.read(MessagesBlock.search_result, block, at);
      return { type: 'search-result', source, title, texts: content.map(({ text }) => text), at };
    }
    default:
      reader.refuse(at, `Content of type '${block.type}' cannot be shown to the model that would answer.`);
      return null;
  }
}

type WireImage = z.infer<typeof MessagesBlock.image>;

const decodeImage = ({ source }: Pick<WireImage, 'source'>, at: Path): ImagePart => ({
  type: 'image',
  source: decodeSource(source),
  at,
});

function decodeSource(source: WireImage['source']): MediaSource {
  if (source.type === 'base64') {
    return { type: 'base64', mediaType: mediaTypeOf(source.media_type), data: source.data };
  }
  return source.type === 'url' ? { type: 'url', url: source.url } : { type: 'file', fileId: source.file_id };
}

function decodeDocument(block: Block, at: Path, reader: RequestReader): DocumentPart {
  const { source, title, context, citations } = reader.read(MessagesBlock.document, block, at);
  const common = {
    type: 'document',
    at,
    ...(title && { title }),
    ...(context && { context }),
    ...(citations?.enabled && { citations: true }),
  } as const;
  if (source.type === 'text') return { ...common, source: { type: 'text', text: source.data } };
  if (source.type !== 'content') return { ...common, source: decodeSource(source) };
  const innerAt = [...at, 'source', 'content'];
  const parts: (TextPart | ImagePart)[] =
    typeof source.content === 'string'
      ? [{ type: 'text', text: source.content, at: innerAt }]
      : source.content.map((inner, index) =>
          inner.type === 'text'
            ? { type: 'text', text: inner.text, at: [...innerAt, index] }
            : decodeImage(inner, [...innerAt, index]),
        );
  return { ...common, source: { type: 'content', parts } };
}
