import { z } from 'zod';

/**
 * Requests of Google's `generateContent`, as far as the gateway itself reads them. Google takes every name in both of its
 * spellings, `systemInstruction` and `system_instruction`, and one entry in place of a list of one.
 */

const oneOrMore = <Schema extends z.ZodType>(entry: Schema) => z.union([z.array(entry).min(1), entry]);

const Members = z.looseObject({});

const Content = z.looseObject({
  role: z.string().nullish(),
  parts: z.union([z.array(Members), Members]).nullish(),
});

const members = {
  contents: oneOrMore(Content),
  systemInstruction: z.union([Content, z.string()]).nullish(),
  system_instruction: z.union([Content, z.string()]).nullish(),
  tools: z.union([z.array(Members), Members]).nullish(),
  generationConfig: Members.nullish(),
  generation_config: Members.nullish(),
};

/** The body of a request: its model is in its path. */
export const GenerateContentBody = z.looseObject(members);

/** What the gateway makes of it: the body, with what stands in its path. */
const inPath = { model: z.string().min(1), stream: z.boolean().optional() };
export const GenerateContentRequest = GenerateContentBody.extend(inPath);

/** A count takes contents, or the whole request in a member. */
export const CountTokensBody = z.looseObject({
  ...members,
  contents: members.contents.optional(),
  generateContentRequest: GenerateContentBody.nullish(),
});

/** The same request as it is translated: every name in its usual spelling, every list a list. Members that are not named are left out. */

const Blob = z.object({ mimeType: z.string(), data: z.string() });
const FileReference = z.object({ mimeType: z.string().nullish(), fileUri: z.string() });
const Struct = z.record(z.string(), z.unknown());

export const GeminiRequestPart = z.object({
  text: z.string().nullish(),
  thought: z.boolean().nullish(),
  thoughtSignature: z.string().nullish(),
  inlineData: Blob.nullish(),
  fileData: FileReference.nullish(),
  functionCall: z.object({ id: z.string().nullish(), name: z.string(), args: Struct.nullish() }).nullish(),
  functionResponse: z
    .object({
      id: z.string().nullish(),
      name: z.string(),
      response: Struct.nullish(),
      parts: z.array(z.object({ inlineData: Blob.nullish(), fileData: FileReference.nullish() })).nullish(),
    })
    .nullish(),
});
export type GeminiRequestPart = z.infer<typeof GeminiRequestPart>;

const FunctionDeclaration = z.object({
  name: z.string(),
  description: z.string().nullish(),
  parameters: Struct.nullish(),
  parametersJsonSchema: Struct.nullish(),
});
export type FunctionDeclaration = z.infer<typeof FunctionDeclaration>;

const RequestContent = z.object({ role: z.string().nullish(), parts: z.array(z.unknown()).nullish() });
export type RequestContent = z.infer<typeof RequestContent>;

const GenerationConfig = z.object({
  maxOutputTokens: z.int().nullish(),
  temperature: z.number().nullish(),
  topP: z.number().nullish(),
  topK: z.number().nullish(),
  seed: z.int().nullish(),
  stopSequences: z.array(z.string()).nullish(),
  candidateCount: z.int().nullish(),
  presencePenalty: z.number().nullish(),
  frequencyPenalty: z.number().nullish(),
  responseLogprobs: z.boolean().nullish(),
  logprobs: z.int().nullish(),
  responseMimeType: z.string().nullish(),
  responseSchema: Struct.nullish(),
  responseJsonSchema: Struct.nullish(),
  responseModalities: z.array(z.string()).nullish(),
  thinkingConfig: z
    .object({
      includeThoughts: z.boolean().nullish(),
      thinkingBudget: z.int().nullish(),
      thinkingLevel: z.string().nullish(),
    })
    .nullish(),
});
export type GenerationConfig = z.infer<typeof GenerationConfig>;

export const GeminiRequestWire = z.object({
  model: z.string().optional(),
  stream: z.boolean().optional(),
  contents: z.array(RequestContent),
  systemInstruction: RequestContent.nullish(),
  tools: z.array(Struct).nullish(),
  toolConfig: z
    .object({
      functionCallingConfig: z
        .object({ mode: z.string().nullish(), allowedFunctionNames: z.array(z.string()).nullish() })
        .nullish(),
    })
    .nullish(),
  generationConfig: GenerationConfig.nullish(),
  safetySettings: z
    .array(z.looseObject({ category: z.string().nullish(), threshold: z.string().nullish() }))
    .nullish(),
  cachedContent: z.string().nullish(),
  serviceTier: z.string().nullish(),
});
export type GeminiRequestWire = z.infer<typeof GeminiRequestWire>;

export const GeminiFunctions = z.array(FunctionDeclaration);
