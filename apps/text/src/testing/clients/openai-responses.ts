import OpenAI from 'openai';
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

type Body = Omit<OpenAI.Responses.ResponseCreateParamsNonStreaming, 'model'>;

/** OpenAI's own library under the Responses protocol; its stream helper checks the order of every event. */
export function openaiResponses(text: TextUnderTest): TextClient {
  const client = new OpenAI({
    baseURL: `${text.url}/v1`,
    apiKey: 'k',
    maxRetries: 0,
    fetch: edgeFetch(text),
  });
  const respond = ({ model, stream }: PromptOptions, body: Body): Promise<OpenAI.Responses.Response> =>
    stream
      ? client.responses.stream({ model, ...body, stream: true }).finalResponse()
      : client.responses.create({ model, ...body });

  return {
    name: 'openai responses',
    protocol: 'responses',
    text: async (how, prompt) => (await respond(how, { input: staged(prompt, how) })).output_text,
    structured: async (how) => {
      const format = { type: 'json_schema', name: 'city', strict: true, schema: SCHEMA } as const;
      const { output_text } = await respond(how, { input: staged('A city', how), text: { format } });
      return JSON.parse(output_text);
    },
    image: async (how, prompt) => {
      const image_url = `data:image/png;base64,${PNG_BASE64}`;
      const content = [
        { type: 'input_image' as const, image_url, detail: 'auto' as const },
        { type: 'input_text' as const, text: staged(prompt, how) },
      ];
      return (await respond(how, { input: [{ role: 'user', content }] })).output_text;
    },
    toolLoop: async (how) => {
      const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: staged(LOOP_PROMPT, how) }];
      const common: Body = {
        tools: TOOLS.map((tool) => ({ type: 'function', strict: true, ...tool })),
        store: false,
        ...(how.thinking && {
          reasoning: { effort: 'medium', summary: 'auto' },
          include: ['reasoning.encrypted_content'],
        }),
      };
      const first = await respond(how, { ...common, input });
      const calls = first.output.filter((item) => item.type === 'function_call');
      const results = calls.map(({ call_id, name }) => ({
        type: 'function_call_output' as const,
        call_id,
        output: RESULTS[name] ?? '',
      }));
      // As every program does: what came goes back as it came. The library's types of the two directions differ.
      const history: OpenAI.Responses.ResponseInput = JSON.parse(JSON.stringify(first.output));
      const second = await respond(how, { ...common, input: [...input, ...history, ...results] });
      const reasoning = first.output.flatMap((item) =>
        item.type === 'reasoning' ? [...item.summary, ...(item.content ?? [])] : [],
      );
      return {
        calls: calls.map(({ name, arguments: json }) => ({ name, input: JSON.parse(json) })),
        answer: second.output_text,
        reasoning: reasoning.map((part) => part.text).join(''),
      };
    },
  };
}
