import { HeldUpBatches } from './held-up-batches';

describe('batches that are held up', () => {
  let heldUp: HeldUpBatches;
  beforeEach(() => (heldUp = new HeldUpBatches()));

  it('go one after the other until twenty were not', () => {
    expect(heldUp.askToBeAlone).toBe(false);
    expect(heldUp.triesAgain(4, true)).toBe(true);
    for (let passed = 0; passed < 20; passed++) {
      expect(heldUp.askToBeAlone).toBe(true);
      heldUp.passed();
    }
    expect(heldUp.askToBeAlone).toBe(false);
  });

  it('alone are tried as a whole three times in a row, and in pieces then', () => {
    const alone = () => heldUp.triesAgain(1, true);
    heldUp.triesAgain(2, true);
    expect([alone(), alone(), alone()]).toEqual([true, true, false]);
    expect(heldUp.askToBeAlone).toBe(false);
    // And again so often once one was not.
    heldUp.triesAgain(2, true);
    heldUp.passed();
    expect([alone(), alone(), alone(), alone()]).toEqual([true, true, true, false]);
  });

  it('are not tried again where nobody else is at it, nor by a batch that was never beside another', () => {
    expect(heldUp.triesAgain(4, false)).toBe(false);
    expect(heldUp.triesAgain(1, true)).toBe(false);
    expect(heldUp.askToBeAlone).toBe(false);
  });
});
