import { expect, test } from 'vitest';
import { requestParameters } from './request-parameters.ts';

const CASES = {
  responses: {
    body: {
      max_output_tokens: 100,
      temperature: 0.5,
      top_p: 0.9,
      reasoning: { effort: 'low' },
      previous_response_id: 'resp_1',
      text: { format: { type: 'json_schema' } },
    },
    own: { 'request.reasoning.level': 'low', 'request.previous_response.id': 'resp_1' },
  },
  chat: {
    body: {
      max_completion_tokens: 100,
      temperature: 0.5,
      top_p: 0.9,
      n: 2,
      seed: -3,
      stop: 'END',
      frequency_penalty: 0.1,
      presence_penalty: 0.2,
      response_format: { type: 'json_object' },
    },
    own: {
      'request.choice.count': 2,
      'request.seed': -3,
      'request.stop_sequences': ['END'],
      'request.frequency_penalty': 0.1,
      'request.presence_penalty': 0.2,
    },
  },
  messages: {
    body: {
      max_tokens: 100,
      temperature: 0.5,
      top_p: 0.9,
      top_k: 40,
      stop_sequences: ['END', 'STOP'],
      output_config: { effort: 'high', format: { type: 'json_schema' } },
    },
    own: {
      'request.top_k': 40,
      'request.stop_sequences': ['END', 'STOP'],
      'request.reasoning.level': 'high',
    },
  },
  gemini: {
    body: {
      generationConfig: {
        maxOutputTokens: 100,
        temperature: 0.5,
        topP: 0.9,
        topK: 40,
        candidateCount: 1,
        responseMimeType: 'application/json',
        thinkingConfig: { thinkingLevel: 'low' },
      },
    },
    own: { 'request.top_k': 40, 'request.reasoning.level': 'low' },
  },
};

test.for(Object.entries(CASES))(
  'the parameters of %s have the names of the conventions',
  ([, { body, own }]) => {
    const all = {
      'request.max_tokens': 100,
      'request.temperature': 0.5,
      'request.top_p': 0.9,
      'output.type': 'json',
      ...own,
    };
    const named = Object.fromEntries(Object.entries(all).map(([name, value]) => [`gen_ai.${name}`, value]));
    expect(requestParameters(body)).toEqual(named);
  },
);

test('embeddings have their dimensions and their format', () => {
  expect(requestParameters({ model: 'm', dimensions: 256, encoding_format: 'base64' })).toEqual({
    'gen_ai.embeddings.dimension.count': 256,
    'gen_ai.request.encoding_formats': ['base64'],
  });
});

test('what has another type than it should is left out, and texts are bounded', () => {
  const stop = Array.from({ length: 20 }, () => 'x'.repeat(1000));
  expect(requestParameters({ temperature: 'hot', stop: 7, n: null, reasoning_effort: {} })).toEqual({});
  expect(JSON.stringify(requestParameters({ stop })).length).toBeLessThan(3000);
  for (const body of [undefined, null, 'text', []]) expect(requestParameters(body)).toEqual({});
});
