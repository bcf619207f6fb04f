import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, isStepCount, jsonSchema, Output, streamText, tool } from 'ai';
import type { TextUnderTest } from '../start-text.ts';
import type { TextProtocolName } from '../text-pairs.ts';
import {
  edgeFetch,
  LOOP_PROMPT,
  PNG_BASE64,
  type PromptOptions,
  RESULTS,
  SCHEMA,
  staged,
  type TextClient,
  TOOLS,
} from './text-client.ts';

type Options = Parameters<typeof generateText>[0];

/** How each of the SDK's providers is configured to think, with nothing kept for it. */
const THINKING = {
  responses: {
    openai: { store: false, forceReasoning: true, reasoningEffort: 'medium', reasoningSummary: 'auto' },
  },
  messages: { anthropic: { thinking: { type: 'enabled', budgetTokens: 2000 } } },
  chat: { openai: { forceReasoning: true, reasoningEffort: 'medium' } },
} as const;
const PLAIN = { responses: { openai: { store: false } }, messages: {}, chat: {} } as const;

/** The Vercel AI SDK, which checks what it reads against closed schemas, with its provider for this protocol. */
export function aiSdk(text: TextUnderTest, protocol: TextProtocolName): TextClient {
  const settings = { baseURL: `${text.url}/v1`, apiKey: 'k', fetch: edgeFetch(text) };
  const openai = createOpenAI(settings);
  const anthropic = createAnthropic(settings);
  const modelOf = {
    responses: (name: string) => openai.responses(name),
    messages: (name: string) => anthropic(name),
    chat: (name: string) => openai.chat(name),
  }[protocol];

  const respond = async (
    how: PromptOptions,
    options: Pick<Options, 'tools' | 'stopWhen' | 'output' | 'messages'>,
    thinking = false,
  ) => {
    const full = {
      ...options,
      messages: options.messages ?? [],
      model: modelOf(how.model),
      maxRetries: 0,
      maxOutputTokens: 4000,
      providerOptions: thinking ? THINKING[protocol] : PLAIN[protocol],
    };
    if (!how.stream) {
      const { text: answer, steps } = await generateText(full);
      return { answer, steps };
    }
    let failure: unknown = null;
    const result = streamText({
      ...full,
      onError: ({ error }) => {
        failure = error;
      },
    });
    await result.consumeStream();
    if (failure !== null) throw failure;
    return { answer: await result.text, steps: await result.steps };
  };
  const user = (content: string) => [{ role: 'user' as const, content }];

  return {
    name: `ai sdk ${protocol}`,
    protocol,
    text: async (how, prompt) => (await respond(how, { messages: user(staged(prompt, how)) })).answer,
    structured: async (how) => {
      const output = Output.object({ schema: jsonSchema(SCHEMA) });
      return JSON.parse((await respond(how, { messages: user(staged('A city', how)), output })).answer);
    },
    image: async (how, prompt) => {
      const content = [
        { type: 'file' as const, data: PNG_BASE64, mediaType: 'image/png' },
        { type: 'text' as const, text: staged(prompt, how) },
      ];
      return (await respond(how, { messages: [{ role: 'user', content }] })).answer;
    },
    toolLoop: async (how) => {
      const tools = Object.fromEntries(
        TOOLS.map(({ name, description, parameters }) => [
          name,
          tool({
            description,
            inputSchema: jsonSchema({ ...parameters, required: [...parameters.required] }),
            execute: () => RESULTS[name] ?? '',
          }),
        ]),
      );
      const { answer, steps } = await respond(
        how,
        { messages: user(staged(LOOP_PROMPT, how)), tools, stopWhen: isStepCount(3) },
        how.thinking,
      );
      return {
        answer,
        calls: (steps[0]?.toolCalls ?? []).map(({ toolName, input }) => ({ name: toolName, input })),
        reasoning: steps[0]?.reasoningText ?? '',
      };
    },
  };
}
