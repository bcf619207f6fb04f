/** Everything that an asynchronous source yields; for tests that look at a stream as a whole. */
export const collect = async <Value>(source: AsyncIterable<Value>): Promise<Value[]> => {
  const values: Value[] = [];
  for await (const value of source) values.push(value);
  return values;
};
