import fc from 'fast-check';
import type { Gateway } from '../support/start-gateway.ts';

/** Something that holds for whatever a caller sends. Throws, or returns what is wrong. */
export interface Property<Input = never> {
  readonly name: string;
  readonly input: fc.Arbitrary<Input>;
  readonly check: (gateway: Gateway, input: Input) => Promise<readonly string[]>;
}

/** A property whose input only it knows. */
export interface OpenProperty {
  readonly name: string;
  readonly run: (gateway: Gateway, parameters: fc.Parameters<unknown>) => Promise<void>;
}

export const open = <Input>({ name, input, check }: Property<Input>): OpenProperty => ({
  name,
  run: async (gateway, parameters) => {
    const property = fc.asyncProperty(input, async (value) => {
      const problems = await check(gateway, value);
      if (problems.length > 0) throw new Error(problems.join('\n'));
    });
    await fc.assert(property, parameters as fc.Parameters<[Input]>);
  },
});

/** One to four of them. */
export const few = <T>(one: fc.Arbitrary<T>) => fc.array(one, { minLength: 1, maxLength: 4 });
