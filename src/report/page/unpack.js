// The page's data: gzip in base64, in script elements that no browser runs.

export async function unpacked(id) {
  const text = document.getElementById(id).textContent;
  const bytes = Uint8Array.from(atob(text), c => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return JSON.parse(await new Response(stream).text());
}
