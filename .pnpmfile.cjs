/** openapi-typescript writes types with the compiler's JavaScript interface, which TypeScript 7 does not have. */
function readPackage(manifest) {
  if (manifest.name !== 'openapi-typescript') return manifest;
  const { typescript: _, ...peerDependencies } = manifest.peerDependencies;
  return {
    ...manifest,
    peerDependencies,
    dependencies: { ...manifest.dependencies, typescript: '~5.9.3' },
  };
}

module.exports = { hooks: { readPackage } };
