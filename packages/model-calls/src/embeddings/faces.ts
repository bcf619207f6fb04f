/** How callers of a protocol are answered; their requests have been read. */
interface Face {
  /** One vector, as JSON. */
  entry(vector: string, index: number): string;
  /** What is before and after the entries. */
  around(about: {
    readonly model: string;
    readonly tokens: number;
  }): readonly [before: string, after: string];
  /** Its names of members of OpenAI's, where it has others. */
  readonly names: Readonly<Record<string, string>>;
}

const GOOGLE_NAMES = { input_type: 'taskType', dimensions: 'outputDimensionality' };
const googleUsage = (tokens: number): string => `"usageMetadata":{"promptTokenCount":${tokens}}}`;
const googleEntry = (vector: string): string => `{"values":${vector}}`;

export const FACES = {
  openai: {
    entry: (vector, index) => `{"object":"embedding","index":${index},"embedding":${vector}}`,
    around: ({ model, tokens }) => [
      '{"object":"list","data":[',
      `],"model":${JSON.stringify(model)},"usage":{"prompt_tokens":${tokens},"total_tokens":${tokens}}}`,
    ],
    names: {},
  },
  google: {
    entry: googleEntry,
    around: ({ tokens }) => ['{"embeddings":[', `],${googleUsage(tokens)}`],
    names: GOOGLE_NAMES,
  },
  'google-one': {
    entry: googleEntry,
    around: ({ tokens }) => ['{"embedding":', `,${googleUsage(tokens)}`],
    names: GOOGLE_NAMES,
  },
} as const satisfies Record<string, Face>;
export type FaceName = keyof typeof FACES;
