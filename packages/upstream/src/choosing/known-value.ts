/** As many names are remembered; there are as many as models. */
const MAX_KNOWN = 2_000;

/** What is known under a name; it is made where nothing is. */
export function known<Value>(values: Map<string, Value>, name: string, create: () => Value): Value {
  const found = values.get(name);
  if (found !== undefined) return found;
  if (values.size >= MAX_KNOWN) values.clear();
  const made = create();
  values.set(name, made);
  return made;
}
