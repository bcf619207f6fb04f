import OpenAI from 'openai';
import { z } from 'zod';
import type { TextUnderTest } from '../start-text.ts';
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

type Body = Omit<OpenAI.ChatCompletionCreateParamsNonStreaming, 'model'>;

/** Reasoning as chat-compatible servers show it; OpenAI's library has no type for it and keeps it. */
const Reasoned = z.looseObject({ reasoning_content: z.string().nullish() });
const Chunk = z.looseObject({ choices: z.array(z.looseObject({ delta: Reasoned })) });

/** OpenAI's own library under Chat Completions. */
export function openaiChat(text: TextUnderTest): TextClient {
  const client = new OpenAI({
    baseURL: `${text.url}/v1`,
    apiKey: 'k',
    maxRetries: 0,
    fetch: edgeFetch(text),
  });
  const respond = async ({ model, stream }: PromptOptions, body: Body) => {
    let reasoning = '';
    if (!stream) {
      const { choices } = await client.chat.completions.create({ model, ...body });
      const message = choices[0]?.message;
      if (message === undefined) throw new Error('no answer');
      return { message, reasoning: Reasoned.parse(message).reasoning_content ?? '' };
    }
    const events = client.chat.completions.stream({ model, ...body, stream: true });
    events.on('chunk', (chunk) => {
      for (const { delta } of Chunk.parse(chunk).choices) reasoning += delta.reasoning_content ?? '';
    });
    const message = await events.finalMessage();
    return { message, reasoning };
  };

  return {
    name: 'openai chat',
    protocol: 'chat',
    text: async (how, prompt) => {
      const { message } = await respond(how, { messages: [{ role: 'user', content: staged(prompt, how) }] });
      return message.content ?? '';
    },
    structured: async (how) => {
      const { message } = await respond(how, {
        messages: [{ role: 'user', content: staged('A city', how) }],
        response_format: { type: 'json_schema', json_schema: { name: 'city', strict: true, schema: SCHEMA } },
      });
      return JSON.parse(message.content ?? '');
    },
    image: async (how, prompt) => {
      const content = [
        { type: 'image_url' as const, image_url: { url: `data:image/png;base64,${PNG_BASE64}` } },
        { type: 'text' as const, text: staged(prompt, how) },
      ];
      return (await respond(how, { messages: [{ role: 'user', content }] })).message.content ?? '';
    },
    toolLoop: async (how) => {
      const messages: OpenAI.ChatCompletionMessageParam[] = [
        { role: 'user', content: staged(LOOP_PROMPT, how) },
      ];
      const common = {
        tools: TOOLS.map((tool) => ({ type: 'function' as const, function: { strict: true, ...tool } })),
        ...(how.thinking && { reasoning_effort: 'medium' as const }),
      };
      const { message, reasoning } = await respond(how, { ...common, messages });
      const calls = (message.tool_calls ?? []).filter((call) => call.type === 'function');
      const results = calls.map(({ id, function: { name } }) => ({
        role: 'tool' as const,
        tool_call_id: id,
        content: RESULTS[name] ?? '',
      }));
      const second = await respond(how, { ...common, messages: [...messages, message, ...results] });
      return {
        calls: calls.map(({ function: { name, arguments: json } }) => ({ name, input: JSON.parse(json) })),
        answer: second.message.content ?? '',
        reasoning,
      };
    },
  };
}
