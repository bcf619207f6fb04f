import type { JsonBody } from '../exchange/call.ts';
import type { StreamEvent } from '../exchange/exchange.ts';

/** A picture that goes with a message. */
export interface Picture {
  readonly name: string;
  /** `image/png` */
  readonly mediaType: string;
  readonly base64: string;
}

export interface UserMessage {
  readonly text: string;
  readonly pictures: readonly Picture[];
}

/** A call of a tool that the model made. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** As the model wrote them: JSON, for a custom tool any text. */
  readonly arguments: string;
  /** Whether a custom tool is called. */
  readonly isCustom: boolean;
}

/** The result of a tool call, as the person says it. */
export interface ToolResult {
  readonly call: ToolCall;
  readonly output: string;
}

/** What a text model has answered so far. */
export interface TextAnswer {
  readonly text: string;
  readonly reasoning: string;
  readonly refusal: string;
  readonly toolCalls: readonly ToolCall[];
  /** Why it ended, in the protocol's word; null: it has not. */
  readonly stopReason: string | null;
  /** Error that came within the stream. */
  readonly error: { readonly message: string; readonly code: string | null } | null;
  /** What the next request of the conversation has in its place, in the protocol's form. */
  readonly output: readonly unknown[];
}

export const NO_ANSWER: TextAnswer = {
  text: '',
  reasoning: '',
  refusal: '',
  toolCalls: [],
  stopReason: null,
  error: null,
  output: [],
};

/** What a person sets for a text request; undefined: the provider's own. */
export interface TextSettings {
  readonly system: string;
  readonly maxOutputTokens: number | undefined;
  readonly temperature: number | undefined;
  readonly effort: string | undefined;
  readonly tools: readonly ToolDefinition[];
  readonly schema: JsonBody | undefined;
}

/** A function's `name`, `description` and `parameters`; or a tool in the protocol's own form, which has a `type`. */
export type ToolDefinition = Readonly<Record<string, unknown>>;

export interface TextRequest {
  readonly model: string;
  readonly settings: TextSettings;
  /** The conversation in the protocol's form. */
  readonly input: readonly unknown[];
}

/** Reads one answer's events. */
export interface TextReader {
  read(event: StreamEvent): void;
  answer(): TextAnswer;
}

/** One of the protocols that text is requested in. */
export interface TextProtocol {
  readonly label: string;
  readonly path: string;
  /** What reasoning effort can be. */
  readonly efforts: readonly string[];
  body(request: TextRequest): JsonBody;
  userMessage(message: UserMessage): readonly unknown[];
  toolResults(results: readonly ToolResult[]): readonly unknown[];
  createReader(): TextReader;
}

/** An event's data as JSON; null for what is none, such as `[DONE]`. */
export function jsonOf(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    return null;
  }
}

/** The tools that are functions, and those that stand in the protocol's own form. */
export const functionsOf = (
  tools: readonly ToolDefinition[],
  toOwnForm: (definition: ToolDefinition) => ToolDefinition,
): readonly ToolDefinition[] => tools.map((tool) => ('type' in tool ? tool : toOwnForm(tool)));

/** What a schema is called where the protocol wants a name. */
export const SCHEMA_NAME = 'answer';

export const dataUrl = ({ mediaType, base64 }: Picture): string => `data:${mediaType};base64,${base64}`;
