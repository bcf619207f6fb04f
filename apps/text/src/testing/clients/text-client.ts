import type { TextUnderTest } from '../start-text.ts';
import type { TextProtocolName } from '../text-pairs.ts';

export interface PromptOptions {
  /** The model as callers name it. */
  readonly model: string;
  readonly stream: boolean;
  /** Commands to the simulated model that no caller sends, such as `[[simulate …]]`. */
  readonly stage?: string;
}

export interface Loop {
  /** Names and arguments of the calls of the first step. */
  readonly calls: readonly { readonly name: string; readonly input: unknown }[];
  /** The text of the second step. */
  readonly answer: string;
  /** The reasoning that the first step showed. */
  readonly reasoning: string;
}

/** What programs do with a text model, each with its own library. */
export interface TextClient {
  readonly name: string;
  readonly protocol: TextProtocolName;
  text(options: PromptOptions, prompt: string): Promise<string>;
  /** Requests both of `TOOLS`, gives `RESULTS` back and everything else as it came, and lets the model finish. */
  toolLoop(options: PromptOptions & { readonly thinking: boolean }): Promise<Loop>;
  /** The value that the text of the answer holds, under `SCHEMA`. */
  structured(options: PromptOptions): Promise<unknown>;
  image(options: PromptOptions, prompt: string): Promise<string>;
}

const citySchema = {
  type: 'object' as const,
  properties: { city: { type: 'string' as const } },
  required: ['city'],
  additionalProperties: false,
};

export const TOOLS = [
  { name: 'get_weather', description: 'The weather in a city', parameters: citySchema },
  { name: 'get_time', description: 'The time in a city', parameters: citySchema },
] as const;
export const RESULTS: Readonly<Record<string, string>> = { get_weather: 'sunny', get_time: 'noon' };
export const LOOP_PROMPT = 'Please use tools get_weather and get_time';
export const LOOP_ANSWER = 'The tool answered: sunny | noon';

export const SCHEMA = {
  type: 'object' as const,
  properties: { city: { type: 'string' as const }, population: { type: 'integer' as const } },
  required: ['city', 'population'],
  additionalProperties: false,
};

/** A picture of one pixel. */
export const PNG_BASE64 =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** A library's `fetch` that passes for the edge. */
export const edgeFetch =
  (text: TextUnderTest): typeof fetch =>
  (input, init) => {
    const headers = new Headers(init?.headers);
    headers.delete('authorization');
    headers.delete('x-api-key');
    for (const [name, value] of Object.entries(text.identityHeaders())) headers.set(name, value);
    return fetch(input, { ...init, headers });
  };

/** Appends the words for the simulator. */
export const staged = (prompt: string, { stage }: PromptOptions): string =>
  stage === undefined ? prompt : `${prompt} ${stage}`;
