import { expect, test } from 'vitest';
import { toolAbout } from './tool-about.ts';

const tool = (name: string, description = '') => ({ name, description, schema: {} });
const TOOLS = [
  tool('get_weather', 'Get the current weather for a location'),
  tool('sendEmail', 'Sends a message to somebody'),
  tool('lookup_1', 'Finds the stock price of a company by its ticker symbol'),
  tool('Read', 'Reads a file from disk'),
  tool('search', 'Search for text in files'),
];

test.for([
  ["What's the weather like in San Francisco?", 'get_weather'],
  ['Please call get_weather for Paris.', 'get_weather'],
  ['Compare the weathers of Rome and Oslo', 'get_weather'],
  ['Write an email to Ann', 'sendEmail'],
  ['What is the stock price of ACME?', 'lookup_1'],
  ['stock up on bread', null],
  ['What is up?', null],
  ['Hello', null],
  ['Read the text of this file and say what you find', null],
  ['Tell me a story about a lighthouse.', null],
  ['', null],
] as const)('%s: %s', ([text, expected]) => {
  expect(toolAbout(text, TOOLS)?.name ?? null).toBe(expected);
});

test('of several tools the one with more in common is called', () => {
  const tools = [tool('get_weather'), tool('get_weather_forecast')];
  expect(toolAbout('the weather forecast of tomorrow', tools)?.name).toBe('get_weather_forecast');
  expect(toolAbout('the weather', tools)?.name).toBe('get_weather');
});
