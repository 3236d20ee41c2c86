/** What the server has put into the page. */
export function readState<State>(): State | undefined {
  const text = document.getElementById('state')?.textContent;
  return text ? (JSON.parse(text) as State) : undefined;
}
