import Anthropic from '@anthropic-ai/sdk';
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

type Body = Omit<Anthropic.MessageCreateParamsNonStreaming, 'model' | 'max_tokens'>;

const textOf = ({ content }: Anthropic.Message): string =>
  content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('');

/** Anthropic's own library. */
export function anthropicMessages(text: TextUnderTest): TextClient {
  const client = new Anthropic({ baseURL: text.url, apiKey: 'k', maxRetries: 0, fetch: edgeFetch(text) });
  const respond = ({ model, stream }: PromptOptions, body: Body): Promise<Anthropic.Message> => {
    const full = { model, max_tokens: 4000, ...body };
    return stream ? client.messages.stream(full).finalMessage() : client.messages.create(full);
  };

  return {
    name: 'anthropic',
    protocol: 'messages',
    text: async (how, prompt) =>
      textOf(await respond(how, { messages: [{ role: 'user', content: staged(prompt, how) }] })),
    structured: async (how) => {
      const message = await respond(how, {
        messages: [{ role: 'user', content: staged('A city', how) }],
        output_config: { format: { type: 'json_schema', schema: SCHEMA } },
      });
      return JSON.parse(textOf(message));
    },
    image: async (how, prompt) => {
      const content = [
        {
          type: 'image' as const,
          source: { type: 'base64' as const, media_type: 'image/png' as const, data: PNG_BASE64 },
        },
        { type: 'text' as const, text: staged(prompt, how) },
      ];
      return textOf(await respond(how, { messages: [{ role: 'user', content }] }));
    },
    toolLoop: async (how) => {
      const messages: Anthropic.MessageParam[] = [{ role: 'user', content: staged(LOOP_PROMPT, how) }];
      const common = {
        tools: TOOLS.map(({ name, description, parameters }) => ({
          name,
          description,
          input_schema: { ...parameters, required: [...parameters.required] },
        })),
        ...(how.thinking && {
          thinking: { type: 'adaptive' as const, display: 'summarized' as const },
          output_config: { effort: 'medium' as const },
        }),
      };
      const first = await respond(how, { ...common, messages });
      const calls = first.content.filter((block) => block.type === 'tool_use');
      const results = calls.map(({ id, name }) => ({
        type: 'tool_result' as const,
        tool_use_id: id,
        content: RESULTS[name] ?? '',
      }));
      const second = await respond(how, {
        ...common,
        messages: [
          ...messages,
          { role: 'assistant', content: first.content },
          { role: 'user', content: results },
        ],
      });
      return {
        calls: calls.map(({ name, input }) => ({ name, input })),
        answer: textOf(second),
        reasoning: first.content
          .flatMap((block) => (block.type === 'thinking' ? [block.thinking] : []))
          .join(''),
      };
    },
  };
}
