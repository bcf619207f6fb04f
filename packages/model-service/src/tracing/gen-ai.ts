import { finishMeaning } from '@gateway/contracts/finish-words';

/**
 * OpenTelemetry's names for requests to models, by open-telemetry/semantic-conventions-genai v0.1.0 (development; it continues
 * v1.41.0 of the general conventions). All of the gateway's uses of them are in this file, because they still change.
 *
 * @see https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/client-inference.md
 */
export const GEN_AI = {
  operation: 'gen_ai.operation.name',
  provider: 'gen_ai.provider.name',
  requestModel: 'gen_ai.request.model',
  requestStream: 'gen_ai.request.stream',
  maxTokens: 'gen_ai.request.max_tokens',
  temperature: 'gen_ai.request.temperature',
  topP: 'gen_ai.request.top_p',
  topK: 'gen_ai.request.top_k',
  seed: 'gen_ai.request.seed',
  stopSequences: 'gen_ai.request.stop_sequences',
  frequencyPenalty: 'gen_ai.request.frequency_penalty',
  presencePenalty: 'gen_ai.request.presence_penalty',
  choiceCount: 'gen_ai.request.choice.count',
  reasoningLevel: 'gen_ai.request.reasoning.level',
  previousResponseId: 'gen_ai.request.previous_response.id',
  encodingFormats: 'gen_ai.request.encoding_formats',
  dimensions: 'gen_ai.embeddings.dimension.count',
  outputType: 'gen_ai.output.type',
  conversationId: 'gen_ai.conversation.id',
  compacted: 'gen_ai.conversation.compacted',
  responseId: 'gen_ai.response.id',
  responseModel: 'gen_ai.response.model',
  finishReasons: 'gen_ai.response.finish_reasons',
  timeToFirstChunk: 'gen_ai.response.time_to_first_chunk',
  inputMessages: 'gen_ai.input.messages',
  outputMessages: 'gen_ai.output.messages',
  systemInstructions: 'gen_ai.system_instructions',
  toolDefinitions: 'gen_ai.tool.definitions',
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  cacheReadTokens: 'gen_ai.usage.cache_read.input_tokens',
  cacheWriteTokens: 'gen_ai.usage.cache_write.input_tokens',
  reasoningTokens: 'gen_ai.usage.reasoning.output_tokens',
} as const;

/** The event that has the content, where it shall not be on the span itself. */
export const CONTENT_EVENT = 'gen_ai.client.inference.operation.details';

/** What readers take that the conventions have no name for: Langfuse its money, its users, sessions and tags, Datadog the same two. */
export const BRIDGES = {
  cost: 'gen_ai.usage.cost',
  user: 'user.id',
  session: 'session.id',
  tags: 'langfuse.trace.tags',
} as const;

interface Operation {
  readonly name: string;
  readonly outputType?: 'text' | 'image' | 'speech';
}

const CHAT: Operation = { name: 'chat' };
/** By the endpoint that usage is recorded under. Nothing better is defined for media. */
const OPERATIONS: Readonly<Record<string, Operation>> = {
  completions: { name: 'text_completion', outputType: 'text' },
  images: { name: 'generate_content', outputType: 'image' },
  speech: { name: 'generate_content', outputType: 'speech' },
  transcriptions: { name: 'generate_content', outputType: 'text' },
  translations: { name: 'generate_content', outputType: 'text' },
  embeddings: { name: 'embeddings' },
  // Words of our own.
  rerank: { name: 'rerank' },
  moderations: { name: 'moderate' },
};

export const operationOf = (endpoint: string): Operation =>
  (Object.hasOwn(OPERATIONS, endpoint) ? OPERATIONS[endpoint] : undefined) ?? CHAT;

/** The conventions' words for those providers that they know, by their presets. Others go by our own words, as they allow. */
const PROVIDERS: Readonly<Record<string, string>> = {
  'azure-openai': 'azure.ai.openai',
  foundry: 'azure.ai.inference',
  gemini: 'gcp.gemini',
  google: 'gcp.gemini',
  vertex: 'gcp.vertex_ai',
  bedrock: 'aws.bedrock',
  'anthropic-aws': 'anthropic',
  mistral: 'mistral_ai',
  xai: 'x_ai',
};

export const providerName = (preset: string): string =>
  (Object.hasOwn(PROVIDERS, preset) ? PROVIDERS[preset] : undefined) ?? preset;

/** The conventions' words for why an answer ended. For a pause and a compaction they have none. */
const FINISHES: Readonly<Record<NonNullable<ReturnType<typeof finishMeaning>>, string>> = {
  stop: 'stop',
  'stop-sequence': 'stop',
  'tool-calls': 'tool_call',
  length: 'length',
  'context-length': 'length',
  refusal: 'content_filter',
  pause: 'pause',
  compaction: 'compaction',
  failed: 'error',
};
const MAX_FINISH_LENGTH = 64;

/** @param word of a provider, or the gateway's own */
export function finishReason(word: string | number): string {
  const meaning = finishMeaning(word);
  return meaning === undefined ? String(word).slice(0, MAX_FINISH_LENGTH) : FINISHES[meaning];
}
