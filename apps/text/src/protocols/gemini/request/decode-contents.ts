import { GeminiRequestPart, type RequestContent } from '@gateway/contracts/google/gemini-request';
import type { Turn } from '../../../neutral/conversation.ts';
import { mediaTypeOf, readAddress } from '../../../neutral/data-url.ts';
import { openReasoning } from '../../../neutral/encoding/sealed-reasoning.ts';
import type {
  DocumentPart,
  ImagePart,
  Part,
  ReasoningPart,
  ResultContent,
  TextPart,
  ToolResultPart,
} from '../../../neutral/parts.ts';
import type { RequestReader } from '../../../neutral/request-reader.ts';
import { isObject } from '../../../wire/json-object.ts';
import type { Path } from '../../../wire/path.ts';
import type { OpaqueTokens } from '../../../wire/tokens/opaque-token.ts';
import { NO_SIGNATURE, tokenIn } from '../../../wire/tokens/signature-token.ts';

/** Parts of tools that Google runs, and of media that no other protocol has. */
const FOREIGN = ['executableCode', 'codeExecutionResult', 'toolCall', 'toolResponse'] as const;

const ONLY_GEMINI = 'what only its own provider knows cannot be shown';

/** `function` is an older word of the user's for results. */
const ROLES: ReadonlySet<string> = new Set(['user', 'model', 'function']);

/** The turns of a conversation, each call with an id that its result names. */
export function decodeContents(
  contents: readonly RequestContent[],
  tokens: OpaqueTokens,
  reader: RequestReader,
): Turn[] {
  const calls = new Calls();
  const turns = contents.map(({ role, parts }, index): Turn => {
    const at = ['contents', index];
    if (role && !ROLES.has(role)) reader.refuse([...at, 'role'], 'Please use a valid role: user, model.');
    const isModel = role === 'model';
    const decoder = new PartDecoder({ calls, tokens, reader, isModel });
    const decoded = (parts ?? []).flatMap((part, of) => decoder.part(part, [...at, 'parts', of]));
    return { role: isModel ? 'assistant' : 'user', at, parts: decoded };
  });
  if (turns.every(({ parts }) => parts.length === 0))
    reader.refuse(['contents'], 'There is nothing to answer: every content is empty.');
  return turns;
}

/** The text of instructions; other content is refused. */
export function decodeSystem(system: RequestContent | null | undefined, reader: RequestReader): TextPart[] {
  return (system?.parts ?? []).flatMap((value, index): TextPart[] => {
    const at = ['systemInstruction', 'parts', index];
    const { text } = reader.read(GeminiRequestPart, value, at);
    if (typeof text === 'string') return text === '' ? [] : [{ type: 'text', text, at }];
    reader.refuse(at, 'Instructions can only be text for this model.');
    return [];
  });
}

/** Calls may come without ids: then their results are of the same name, in the same order. */
class Calls {
  readonly #open: { readonly id: string; readonly name: string }[] = [];
  #count = 0;

  called(name: string, given: string | null | undefined): string {
    this.#count += 1;
    const id = given || `call_${this.#count}`;
    this.#open.push({ id, name });
    return id;
  }

  answered(name: string, given: string | null | undefined): string {
    const byId = given ? this.#open.findIndex(({ id }) => id === given) : -1;
    const found = byId >= 0 ? byId : this.#open.findIndex((call) => call.name === name);
    const [call] = found < 0 ? [] : this.#open.splice(found, 1);
    return call?.id ?? given ?? name;
  }
}

interface Decoding {
  readonly calls: Calls;
  readonly tokens: OpaqueTokens;
  readonly reader: RequestReader;
  readonly isModel: boolean;
}

class PartDecoder {
  readonly #calls: Calls;
  readonly #tokens: OpaqueTokens;
  readonly #reader: RequestReader;
  readonly #isModel: boolean;
  /** The calls, as Google's signatures are of one by its number. */
  #callIndex = 0;

  constructor({ calls, tokens, reader, isModel }: Decoding) {
    this.#calls = calls;
    this.#tokens = tokens;
    this.#reader = reader;
    this.#isModel = isModel;
  }

  part(value: unknown, at: Path): Part[] {
    const foreign = isObject(value) ? FOREIGN.find((name) => value[name] !== undefined) : undefined;
    if (foreign !== undefined) {
      this.#reader.drop(at, ONLY_GEMINI);
      return [{ type: 'foreign', name: foreign, at }];
    }
    const part = this.#reader.read(GeminiRequestPart, value, at);
    if (part.thought === true) return this.#thought(part, at);
    return [...this.#signed(part, at), ...this.#content(part, at)];
  }

  /** Thoughts count by their seal alone: what is shown of them is in it. */
  #thought({ text, thoughtSignature }: GeminiRequestPart, at: Path): Part[] {
    if (!thoughtSignature) return [];
    return this.#reasoning(thoughtSignature, text ? [text] : [], 'thought', at);
  }

  /** The reasoning that a part was signed with comes before it. */
  #signed({ thoughtSignature, functionCall, text }: GeminiRequestPart, at: Path): Part[] {
    if (!thoughtSignature) return [];
    const place = functionCall ? this.#callIndex : text ? 'text' : 'end';
    return this.#reasoning(thoughtSignature, [], place, at);
  }

  #reasoning(
    signature: string,
    texts: string[],
    place: number | 'text' | 'end' | 'thought',
    at: Path,
  ): Part[] {
    if (signature === NO_SIGNATURE) return [];
    const path = [...at, 'thoughtSignature'];
    const token = tokenIn(signature);
    if (token !== null) {
      const native = { vendor: 'google', kind: 'signature' } as const;
      return [openReasoning({ texts, form: 'summary', at: path }, token, native, this.#tokens)];
    }
    const own: ReasoningPart = {
      type: 'reasoning',
      form: 'summary',
      texts,
      at: path,
      payload: { vendor: 'google', kind: 'signature', data: signature, place },
    };
    return [own];
  }

  #content(part: GeminiRequestPart, at: Path): Part[] {
    const { text, inlineData, fileData, functionCall, functionResponse } = part;
    if (functionCall) {
      this.#callIndex += 1;
      const { name, id, args } = functionCall;
      return [
        {
          type: 'tool-call',
          id: this.#calls.called(name, id),
          name,
          arguments: JSON.stringify(args ?? {}),
          at: [...at, 'functionCall'],
        },
      ];
    }
    if (functionResponse) return [this.#result(functionResponse, [...at, 'functionResponse'])];
    if (inlineData || fileData) return this.#media({ inlineData, fileData }, at);
    return text ? [{ type: 'text', text, at }] : [];
  }

  #media({ inlineData, fileData }: Pick<GeminiRequestPart, 'inlineData' | 'fileData'>, at: Path): Part[] {
    if (this.#isModel) {
      this.#reader.drop(at, ONLY_GEMINI);
      return [];
    }
    if (inlineData?.mimeType.startsWith('audio/'))
      return [{ type: 'audio', data: inlineData.data, format: audioFormat(inlineData.mimeType), at }];
    return this.#shown({ inlineData, fileData }, at);
  }

  /** What both a user and a tool can show. */
  #shown(
    { inlineData, fileData }: Pick<GeminiRequestPart, 'inlineData' | 'fileData'>,
    at: Path,
  ): (ImagePart | DocumentPart)[] {
    if (inlineData) {
      const mediaType = mediaTypeOf(inlineData.mimeType);
      return this.#byType(mediaType, { type: 'base64', mediaType, data: inlineData.data }, at);
    }
    const source = fileData ? readAddress(fileData.fileUri) : null;
    if (source?.type === 'url' && !OF_GOOGLE.test(source.url))
      return this.#byType(mediaTypeOf(fileData?.mimeType ?? ''), source, at);
    this.#reader.refuse(
      [...at, 'fileData'],
      'A file is known to the provider that keeps it only. Send its content as inlineData instead.',
    );
    return [];
  }

  #byType(mediaType: string, source: ImagePart['source'], at: Path): (ImagePart | DocumentPart)[] {
    if (mediaType.startsWith('image/')) return [{ type: 'image', source, at }];
    if (!NOT_SHOWN.test(mediaType)) return [{ type: 'document', source, at }];
    this.#reader.refuse(at, `Content of type '${mediaType}' cannot be shown to the model that would answer.`);
    return [];
  }

  #result(
    { id, name, response, parts }: NonNullable<GeminiRequestPart['functionResponse']>,
    at: Path,
  ): ToolResultPart {
    const { text, isError } = outputOf(response ?? {});
    const media = (parts ?? []).flatMap((part, index) => this.#shown(part, [...at, 'parts', index]));
    const texts: TextPart[] = text === '' ? [] : [{ type: 'text', text, at: [...at, 'response'] }];
    const content: ResultContent[] = [...texts, ...media];
    return {
      type: 'tool-result',
      callId: this.#calls.answered(name, id),
      content,
      at,
      ...(isError && { isError }),
    };
  }
}

/** Addresses that only Google can read: files that it keeps, and videos. */
const OF_GOOGLE = /^https?:\/\/(?:[\w-]+\.)*(?:googleapis\.com\/.*files\/|youtube\.com|youtu\.be)/i;

const NOT_SHOWN = /^(?:video|audio)\//;

/** Sound's formats as other protocols name them. */
const audioFormat = (mimeType: string): string => {
  const format = mimeType.slice('audio/'.length).replace(/^x-/, '');
  return format === 'mpeg' ? 'mp3' : format;
};

/** A result is its `output` or its `error` where it has nothing else, as Google documents, and all of it otherwise. */
function outputOf(response: { readonly [member: string]: unknown }): { text: string; isError: boolean } {
  const [only, ...others] = Object.entries(response);
  if (only !== undefined && others.length === 0 && (only[0] === 'output' || only[0] === 'error')) {
    const [name, value] = only;
    return { text: typeof value === 'string' ? value : JSON.stringify(value), isError: name === 'error' };
  }
  return { text: only === undefined ? '' : JSON.stringify(response), isError: false };
}
