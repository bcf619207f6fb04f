import { historyCallId } from '../../../neutral/encoding/call-ids.ts';
import type { Encoder } from '../../../neutral/encoding/encoder.ts';
import type { OpaquePayload, Part, ReasoningPart, ToolCallPart } from '../../../neutral/parts.ts';
import { acceptsPayload } from '../../../neutral/target.ts';
import { parseArguments, parseExactly } from '../../../wire/raw-json.ts';
import { NO_SIGNATURE } from '../../../wire/tokens/signature-token.ts';
import { type GeminiPart, textPart } from './encode-content.ts';

/**
 * An earlier answer, each signature on the part that it came with. Through Messages and Responses reasoning keeps its
 * place, through Chat it comes before everything else: the place says which part it is of.
 *
 * @param isCurrent whether Gemini demands a signature of its first call
 */
export function encodeModelParts(parts: readonly Part[], encoder: Encoder, isCurrent: boolean): GeminiPart[] {
  const out: GeminiPart[] = [];
  const seals = new Seals(out);
  for (const part of parts) {
    switch (part.type) {
      case 'reasoning':
        seals.take(part, encoder);
        break;
      case 'text':
      case 'refusal':
        if (part.text !== '') out.push(textPart(part.text));
        break;
      case 'tool-call':
        out.push(seals.call(encodeCall(part, encoder)));
        break;
      default:
        break;
    }
  }
  seals.settle();
  return isCurrent && encoder.target.quirks.thinking === 'adaptive' ? withSignature(out) : out;
}

/** Gives earlier parts their signatures. */
class Seals {
  readonly #out: GeminiPart[];
  readonly #ofCalls = new Map<number, string>();
  readonly #ofText: string[] = [];
  readonly #ends: string[] = [];
  #calls = 0;

  constructor(out: GeminiPart[]) {
    this.#out = out;
  }

  take({ payload, texts, at = [] }: ReasoningPart, { target, losses }: Encoder): void {
    if (isOwnSummary(payload, target.vendor)) return;
    if (payload?.kind !== 'signature' || !acceptsPayload(target, payload)) {
      losses.drop(at, "reasoning that is not this upstream's own");
      return;
    }
    const { data, place = 'end' } = payload;
    if (typeof place === 'number') this.#ofCalls.set(Math.max(this.#calls, place), data);
    else if (place === 'text') this.#ofText.push(data);
    else if (place === 'end') this.#ends.push(data);
    else if (place === 'whole') this.#out.push(wholePart(data));
    else this.#out.push({ text: texts.join(''), thought: true, thoughtSignature: data });
  }

  call(part: GeminiPart): GeminiPart {
    const data = this.#ofCalls.get(this.#calls);
    this.#calls += 1;
    return data === undefined ? part : { ...part, thoughtSignature: data };
  }

  /** What is of the text goes to the last one without a signature; what finds none stays a part of its own. */
  settle(): void {
    const texts = this.#out.flatMap((part, index) => (isPlainText(part) ? [index] : []));
    for (const data of this.#ofText.splice(0)) {
      const index = texts.pop() ?? -1;
      const found = this.#out[index];
      if (found === undefined) this.#ends.push(data);
      else this.#out[index] = { ...found, thoughtSignature: data };
    }
    for (const data of this.#ends) this.#out.push({ text: '', thoughtSignature: data });
  }
}

const isPlainText = (part: GeminiPart): boolean =>
  typeof part.text === 'string' && !('thoughtSignature' in part) && !('thought' in part);

/** A summary of its own thoughts that came without a signature: nothing has to go back. */
const isOwnSummary = (payload: OpaquePayload | undefined, vendor: string): boolean =>
  payload?.kind === 'trace' && payload.vendor === vendor;

const wholePart = (json: string): GeminiPart => Object(parseExactly(json));

function encodeCall(call: ToolCallPart, { names, target }: Encoder): GeminiPart {
  const args = call.custom
    ? { input: call.arguments }
    : (parseArguments(call.arguments) ?? { _raw: call.arguments });
  const id = target.quirks.toolCallIds === 'none' ? {} : { id: historyCallId(call.id) };
  return { functionCall: { ...id, name: names.upstreamName(call), args } };
}

function withSignature(parts: GeminiPart[]): GeminiPart[] {
  const first = parts.findIndex((part) => 'functionCall' in part);
  const call = parts[first];
  if (call === undefined || 'thoughtSignature' in call) return parts;
  return parts.with(first, { ...call, thoughtSignature: NO_SIGNATURE });
}
