/** Everything that an asynchronous source yields; for tests of a whole stream. */
export const collect = async <Value>(source: AsyncIterable<Value>): Promise<Value[]> => {
  const values: Value[] = [];
  for await (const value of source) values.push(value);
  return values;
};
